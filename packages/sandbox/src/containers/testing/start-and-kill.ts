/** A server that is killed, as the drivers of containers must expect. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** `module` exports a backend by the name `backend`; `options` are passed to it. */
export interface KilledServer {
  module: URL;
  backend: string;
  options: object;
  trajectories: readonly string[];
}

/**
 * A process that holds a slot for each trajectory until it is killed. In each workspace the file `index`, with the number of its
 * trajectory, was saved.
 */
export async function startAndKill({ module, backend, options, trajectories }: KilledServer): Promise<void> {
  const program = `
    import { ${backend} } from ${JSON.stringify(module.pathname)};
    const backend = new ${backend}(${JSON.stringify({ ...options, warmSlots: 0 })});
    await backend.start();
    const hold = () => Promise.all(${JSON.stringify(trajectories)}.map((each) => backend.acquire(each)));
    const slots = await hold();
    await backend.executeBatch(slots.map((slot, i) => [slot, 'bash', { command: 'echo ' + i + ' > index' }]));
    for (const slot of slots) await backend.release(slot);
    backend.executeBatch((await hold()).map((slot) => [slot, 'bash', { command: 'sleep 600', timeout: 600 }]));
    console.log('ready');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [output] = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), exited]);
  if (output !== 'ready\n') throw new Error(`the server ended before it was killed: ${output}`);
  child.kill('SIGKILL');
  await exited;
}
