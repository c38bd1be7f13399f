import { describeLocalContract } from './testing/describe-local-contract.ts';

await describeLocalContract('bubblewrap', { timedOutCommands: 1_000 });
