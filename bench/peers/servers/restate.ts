/** The service that Restate calls: durable steps around the model and the command. */
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import * as restate from '@restatedev/restate-sdk';
import { announce } from '../../processes/listen.ts';
import { askModel, runCommand } from './steps.ts';

const [modelUrl = ''] = process.argv.slice(2);

const agent = restate.workflow({
  name: 'agent',
  handlers: {
    run: async (ctx: restate.WorkflowContext, { prompt, tool }: { prompt: string; tool: boolean }) => {
      const answer = await ctx.run('ask', () => askModel(modelUrl, prompt));
      if (!tool) return ctx.run('keep', () => answer);
      await ctx.run('command', runCommand);
      return ctx.run('ask again', () => askModel(modelUrl, prompt));
    },
  },
});

const server = createServer(restate.createEndpointHandler({ services: [agent], logger: () => {} }));
server.listen(0, '127.0.0.1', () => announce((server.address() as AddressInfo).port));
