/** The model, with a real request: one short prompt with a tool, like a run. */

import { type Model, ModelError, type ModelErrorCode } from '../../../agent/model/model.ts';
import type { Config } from '../../../config/index.ts';
import { ConfigError } from '../../../config/index.ts';
import { configuredModel } from '../../../start/configured-model.ts';
import { duration } from '../../text/time.ts';
import type { Finding } from '../finding.ts';

const ANSWER_MS = 60_000;

/** Models that cannot call tools refuse a request with one, and are useless for an agent. */
const TOOL = {
  name: 'terminal',
  description: 'Runs a shell command',
  parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
};

const FIXES: Record<ModelErrorCode, string> = {
  provider_auth: 'Check the key: OPENAI_API_KEY, ANTHROPIC_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY',
  provider_rate_limit: 'Wait, or raise the quota at the provider',
  provider_unavailable: 'Check OPENAI_BASE_URL, that the endpoint runs, and the network',
  provider_bad_request: 'Check TALARIA_MODEL: the name of the model, and that it can call tools',
  provider_error: 'Check that OPENAI_BASE_URL is an OpenAI-compatible endpoint (it usually ends in /v1)',
  context_overflow: 'Choose a model with a longer context with TALARIA_MODEL',
  content_filtered: 'Choose another model with TALARIA_MODEL',
};

export async function checkModel(config: Config): Promise<Finding> {
  let model: Model;
  try {
    model = configuredModel(config);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { status: 'failed', detail: error.problems.join('; '), fix: 'See talaria help serve, Model' };
  }
  if (model.name.startsWith('demo')) {
    return {
      status: 'warning',
      detail: `${model.name}: built in, and only runs the commands in backticks of a prompt`,
      fix: 'Set OPENAI_BASE_URL or the key of a provider, and TALARIA_MODEL',
    };
  }
  const startedAt = performance.now();
  try {
    await ask(model);
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const fix = FIXES[error.isWrongUrl ? 'provider_error' : error.code];
    return { status: 'failed', detail: `${model.name}: ${error.message}`, fix };
  }
  return {
    status: 'ok',
    detail: `${model.name} answered in ${duration((performance.now() - startedAt) / 1000)}`,
  };
}

async function ask(model: Model): Promise<void> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const messages = [{ role: 'user' as const, content: 'Answer with the word ok.' }];
  try {
    for await (const part of model.streamStep({ messages, tools: [TOOL], signal })) {
      if (part.type === 'finish') return;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    const message = `No answer within ${ANSWER_MS / 1000} s.`;
    throw new ModelError('provider_unavailable', message, { retryable: true });
  }
}
