/**
 * A server on whose machine something is mounted after its start: prints what a command finds that tries to write there.
 * Run it in a mount namespace of its own, in which mounts are shared, as on most machines.
 *
 *   node mount-later.ts <workspacesDir> <isolation> <directory of the system>
 */
import { execFileSync } from 'node:child_process';
import type { Isolation } from '../../backend.ts';
import { LocalBackend } from '../local-backend.ts';

const [workspacesDir = '', isolation, dir = ''] = process.argv.slice(2);
const backend = new LocalBackend({ workspacesDir, isolation: isolation as Isolation['kind'] });
await backend.start();
const slot = await backend.acquire();
await backend.executeBatch([[slot, 'bash', { command: 'true' }]]);
execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'tmpfs', dir]);
const [result] = await backend.executeBatch([[slot, 'bash', { command: `touch ${dir}/written` }]]);
console.log(result?.output);
await backend.stop({ purge: true });
