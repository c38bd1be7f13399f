/**
 * The parts of prom-client that are used, each from its own file. Its index also loads what is not, the API of
 * OpenTelemetry among it: 35 ms of every start. Which files it has is no promise of the package, so package.json holds
 * it to patches of one version.
 */
import { createRequire } from 'node:module';
import type * as all from 'prom-client';

const require = createRequire(import.meta.url);

export type Counter<Label extends string = string> = all.Counter<Label>;
export const Counter: typeof all.Counter = require('prom-client/lib/counter.js');

export type Gauge<Label extends string = string> = all.Gauge<Label>;
export const Gauge: typeof all.Gauge = require('prom-client/lib/gauge.js');

export type Histogram<Label extends string = string> = all.Histogram<Label>;
export const Histogram: typeof all.Histogram = require('prom-client/lib/histogram.js');

export type Registry = all.Registry;
export const Registry: typeof all.Registry = require('prom-client/lib/registry.js');
