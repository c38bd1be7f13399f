import { describeLocalContract } from './local-backend.contract.ts';

await describeLocalContract('bubblewrap', { timedOutCommands: 1_000 });
