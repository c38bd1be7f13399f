/** The example server on standard input and output. `--modern` serves the newer protocol alone. */
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createExampleServer } from './example-server.ts';

serveStdio(createExampleServer, { legacy: process.argv.includes('--modern') ? 'reject' : 'serve' });
