import { describeLocalContract } from './testing/describe-local-contract.ts';

await describeLocalContract('unshare', { timedOutCommands: 100 });
