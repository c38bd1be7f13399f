/**
 * The checker: a program of its own that is given the evidence of a round, reads everything else over the wire, and prints what is
 * broken as JSON.
 *
 *   node test/soak/checker/check.ts evidence.json
 *
 * It keeps what it has read beside the evidence, so that a violation can be looked at when the servers are gone.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Evidence } from '../evidence.ts';
import { observe } from './observation.ts';
import { judge } from './rules/judge.ts';

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('expected the path of the evidence');
const evidence = JSON.parse(readFileSync(path, 'utf8')) as Evidence;
const observation = await observe(evidence);
writeFileSync(path.replace(/\.json$/, '-observed.json'), JSON.stringify(observation));
process.stdout.write(JSON.stringify(judge(evidence, observation)));
