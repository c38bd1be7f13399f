/** Checks whether the suite can run against a server at all, so that a problem is reported once, not by every test. */
import { randomUUID } from 'node:crypto';
import { type ModelServer, script, startModelServer } from '../../support/model-server.ts';

const ANSWER_LIMIT_MS = 10_000;
/** The first run of a server may have a lot to load. */
const MODEL_LIMIT_MS = 30_000;

export interface Tested {
  baseUrl: string;
  key: string | undefined;
  modelHost: string;
  modelPort: number;
}

/** Undefined when the suite can run, else the reason and what to do. */
export async function reasonNotToRun(tested: Tested): Promise<string | undefined> {
  const { baseUrl, key, modelHost, modelPort } = tested;
  let answer: Response;
  try {
    answer = await ask(tested, 'GET', '/v1/models');
  } catch (error) {
    return `Nothing answers at ${baseUrl}: ${causeOf(error)}. Give the address without /v1.`;
  }
  if (answer.status === 401) {
    return key === undefined
      ? 'The server wants a key: give it with --key.'
      : 'The server refuses the key that --key gives.';
  }
  if (!answer.ok)
    return `${baseUrl}/v1/models answers ${answer.status}; this does not look like a Hermes API.`;

  let model: ModelServer;
  try {
    model = await startModelServer({ host: modelHost, port: modelPort });
  } catch (error) {
    return `The model of the suite cannot listen on ${modelHost}:${modelPort} (${causeOf(error)}); choose another --model-port.`;
  }
  await using _ = model;
  const marker = randomUUID();
  const prompt = `${marker}\n${script([{ text: 'ready' }])}`;
  const run = await ask(tested, 'POST', '/v1/runs', { input: prompt });
  if (run.status !== 202) return `POST /v1/runs answers ${run.status}, not 202: ${await run.text()}`;
  try {
    await model.waitForRequest(({ body }) => JSON.stringify(body).includes(marker), MODEL_LIMIT_MS);
  } catch {
    return [
      'The server does not ask the model of this suite. Its model must be the OpenAI-compatible one at',
      `http://${modelHost}:${modelPort}/v1 with the name "scripted", which listens while the suite runs.`,
      `Talaria is started so: OPENAI_BASE_URL=http://127.0.0.1:${modelPort}/v1 TALARIA_MODEL=scripted npm start`,
    ].join('\n');
  }
  return undefined;
}

function ask({ baseUrl, key }: Tested, method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(baseUrl + path, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
  });
}

function causeOf(error: unknown): string {
  const { cause, message } = error as Error;
  const { code } = (cause ?? error) as { code?: string };
  return code ?? message;
}
