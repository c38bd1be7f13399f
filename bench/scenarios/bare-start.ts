/** Floor of starting: from spawning Node to a response of a bare node:http server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const BARE_SERVER = `require('node:http').createServer((request, response) => response.end('{}'))
  .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`;

export async function timeBareStart(): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['-e', BARE_SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [port] = await once(child.stdout, 'data');
    await answers(`http://127.0.0.1:${String(port).trim()}`);
    return performance.now() - startedAt;
  } finally {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

export async function answers(url: string): Promise<void> {
  const response = await fetch(`${url}/health`);
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${url}/health answered ${response.status}`);
}
