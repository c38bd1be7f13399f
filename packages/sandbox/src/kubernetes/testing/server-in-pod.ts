/** A server that runs in a pod of the cluster itself, without a setting for the cluster. A test starts it there. */
import { KubernetesBackend } from '../kubernetes-backend.ts';

const [, , image = ''] = process.argv;
const backend = new KubernetesBackend({
  workspacesDir: '/tmp/workspaces',
  ...{ warmSlots: 0, acquireTimeoutS: 300, pod: { image, memoryMb: 64 } },
});
await backend.start();
const slot = await backend.acquire('trajectory');
const [result] = await backend.executeBatch([[slot, 'bash', { command: 'echo hello' }]]);
console.log(JSON.stringify({ output: result?.output, pod: slot.containerId }));
setInterval(() => {}, 60_000);
