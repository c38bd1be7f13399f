/** Tools as callers write them: what the client sends, and which types the arguments have. */
import Type from 'typebox';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type { RunStatus } from '../index.ts';
import type { Talaria } from '../talaria.ts';
import { type ClientTool, defineTool, toFunctionTools } from './client-tool.ts';
import type { StandardSchema } from './standard-schema.ts';

/** Like a library that only validates. */
const checksOnly: StandardSchema<{ city: string }> = {
  '~standard': { version: 1, vendor: 'checks', validate: (value) => ({ value: value as { city: string } }) },
};
const execute = () => 'ok';
const parametersOf = (tool: ClientTool) => toFunctionTools({ tool })[0]!.function.parameters;

describe('what is sent', () => {
  it('is a function with a JSON schema, under the name of the tool', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    expect(
      toFunctionTools({ get: { description: 'Gets', parameters, execute }, put: { parameters } }),
    ).toEqual([
      { type: 'function', function: { name: 'get', description: 'Gets', parameters } },
      { type: 'function', function: { name: 'put', parameters } },
    ]);
  });

  it('is the schema of the input, where parsing changes the value', () => {
    const parameters = z.object({ days: z.number().default(3), at: z.string().transform(Number) });
    expect(parametersOf({ parameters, execute })).toEqual({
      type: 'object',
      properties: { days: { type: 'number', default: 3 }, at: { type: 'string' } },
      required: ['at'],
    });
  });

  it('is the schema itself for typebox', () => {
    const parameters = Type.Object({ city: Type.String() });
    expect(JSON.parse(JSON.stringify(parametersOf({ parameters, execute })))).toEqual({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    });
  });

  it('is the JSON schema given beside a schema that has none', () => {
    const jsonSchema = { type: 'object' };
    expect(parametersOf({ parameters: checksOnly, jsonSchema, execute })).toBe(jsonSchema);
    expect(() => parametersOf({ parameters: checksOnly, execute })).toThrow(
      "The parameters of 'tool' (checks) cannot be sent as a JSON schema: its library does not make JSON schemas. " +
        "Pass one as 'jsonSchema' beside them",
    );
  });

  it('is an error with the reason when the library cannot write it', () => {
    const parameters = z.object({ at: z.date() });
    expect(() => parametersOf({ parameters, execute })).toThrow(
      /^The parameters of 'tool' \(zod\) cannot be sent as a JSON schema: .*Date.*Pass one/,
    );
  });

  it('uses a draft that the library knows', () => {
    const older: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'older',
        validate: (value) => ({ value }),
        jsonSchema: {
          input: ({ target }) => {
            if (target !== 'draft-07') throw new Error('unknown target');
            return { type: 'object', $schema: target };
          },
        },
      },
    };
    expect(parametersOf({ parameters: older, execute })).toEqual({ type: 'object' });
  });
});

/** Never called: the compiler is the test. */
export async function typed(client: Talaria): Promise<void> {
  const run = await client.runs.run({
    input: 'x',
    temperature: 0.5,
    tools: {
      zod: {
        description: 'of zod',
        parameters: z.object({
          city: z.string(),
          days: z.number().default(3),
          at: z.string().transform(Number),
        }),
        execute: (args, { runId, toolCallId, signal }) => {
          expectTypeOf(args).toEqualTypeOf<{ city: string; days: number; at: number }>();
          expectTypeOf({ runId, toolCallId }).toEqualTypeOf<{ runId: string; toolCallId: string }>();
          expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        },
      },
      typebox: {
        parameters: Type.Object({ city: Type.String(), days: Type.Optional(Type.Number()) }),
        async execute(args) {
          expectTypeOf(args).toEqualTypeOf<{ city: string; days?: number }>();
        },
      },
      standard: {
        parameters: checksOnly,
        jsonSchema: { type: 'object' },
        execute: ({ city }) => expectTypeOf(city).toEqualTypeOf<string>(),
      },
      json: {
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
        execute: (args) => expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>(),
      },
      apart: defineTool({
        parameters: z.object({ city: z.string() }),
        execute: ({ city }) => expectTypeOf(city).toEqualTypeOf<string>(),
      }),
    },
    output_schema: z.object({ when: z.string().transform((text) => new Date(text)) }),
  });
  expectTypeOf(run.output_parsed).toEqualTypeOf<{ when: Date } | undefined>();
  expectTypeOf(run.status).toEqualTypeOf<RunStatus>();

  const plain = await client.runs.run({ input: 'x', output_schema: { type: 'array' } });
  expectTypeOf(plain.output_parsed).toEqualTypeOf<unknown>();
  const boxed = await client.runs.run({ input: 'x', output_schema: Type.Array(Type.String()) });
  expectTypeOf(boxed.output_parsed).toEqualTypeOf<string[] | undefined>();

  const wire = [{ type: 'function' as const, function: { name: 'elsewhere' } }];
  expectTypeOf(await client.runs.run({ input: 'x', tools: wire })).toHaveProperty('run_id');
  await client.runs.create({
    input: 'x',
    tools: { a: { parameters: z.object({}) } },
    output_schema: undefined,
  });
  await client.runs.create({ input: 'x', tools: wire });
  await client.tools.serve({
    tools: { a: { parameters: z.object({ n: z.number() }), execute: ({ n }) => n.toFixed() } },
  });
  // @ts-expect-error: a tool without parameters needs an empty schema
  await client.runs.run({ input: 'x', tools: { a: { execute } } });
  // @ts-expect-error: nobody would run it
  await client.runs.run({ input: 'x', tools: { a: { parameters: {} } } });
}
