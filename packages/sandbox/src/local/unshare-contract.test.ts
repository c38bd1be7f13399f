import { describeLocalContract } from './local-backend.contract.ts';

await describeLocalContract('unshare', { timedOutCommands: 100 });
