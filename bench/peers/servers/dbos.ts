/** A server with DBOS in it: a request starts a workflow of durable steps and waits for its end. */
import { createServer } from 'node:http';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { listen } from '../../processes/listen.ts';
import { askModel, runCommand } from './steps.ts';

const [modelUrl = '', systemDatabaseUrl = ''] = process.argv.slice(2);

interface Wanted {
  prompt: string;
  tool: boolean;
}

const agent = DBOS.registerWorkflow(
  async ({ prompt, tool }: Wanted) => {
    const answer = await DBOS.runStep(() => askModel(modelUrl, prompt), { name: 'ask' });
    if (!tool) return DBOS.runStep(async () => answer, { name: 'keep' });
    await DBOS.runStep(runCommand, { name: 'command' });
    return DBOS.runStep(() => askModel(modelUrl, prompt), { name: 'ask again' });
  },
  { name: 'agent' },
);

DBOS.setConfig({ name: 'bench', systemDatabaseUrl, logLevel: 'error' });
await DBOS.launch();
listen(
  createServer(async (request, response) => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const handle = await DBOS.startWorkflow(agent)(JSON.parse(body) as Wanted);
    response.end(JSON.stringify({ id: handle.workflowID, answer: await handle.getResult() }));
  }),
);
