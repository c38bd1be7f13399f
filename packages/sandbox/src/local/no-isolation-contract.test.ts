import { describeLocalContract } from './local-backend.contract.ts';

await describeLocalContract('none', { timedOutCommands: 100 });
