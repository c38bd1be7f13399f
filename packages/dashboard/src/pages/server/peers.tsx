/** The servers that share the store of this one, where several can. */
import { now } from '../../ui/clock.ts';
import { age } from '../../ui/format.ts';
import { VisibleText } from '../../ui/visible-text.tsx';

export interface PeerServer {
  server_id: string;
  url: string;
  role: string;
  version: string;
  max_concurrent: number;
  seen_at: string;
  self: boolean;
}

export function Peers({ servers }: { servers: readonly PeerServer[] }) {
  if (servers.length === 0) return null;
  return (
    <>
      <h2>Servers on this store</h2>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Address</th>
            <th scope="col">Role</th>
            <th scope="col">Version</th>
            <th scope="col">Runs at most</th>
            <th scope="col">Seen</th>
          </tr>
        </thead>
        <tbody>
          {servers.map(({ server_id, url, role, version, max_concurrent, seen_at, self }) => (
            <tr key={server_id}>
              <td>
                <VisibleText text={url} />
                {self && <span class="tag">this one</span>}
              </td>
              <td data-name="role">{role}</td>
              <td data-name="version">{version}</td>
              <td data-name="runs at most">{max_concurrent}</td>
              <td data-name="seen">{age(Math.max(0, now.value - Date.parse(seen_at) / 1000))} ago</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
