import { describeLocalContract } from './testing/describe-local-contract.ts';

await describeLocalContract('none', { timedOutCommands: 100 });
