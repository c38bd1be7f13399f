/** Everybody that is compared, in the order of the tables. */
import { dbos } from './adapters/dbos.ts';
import { durableStreams } from './adapters/durable-streams.ts';
import { hermes } from './adapters/hermes.ts';
import { langgraph } from './adapters/langgraph.ts';
import { durableMastra, mastra } from './adapters/mastra.ts';
import { restate } from './adapters/restate.ts';
import { talaria } from './adapters/talaria.ts';
import type { Peer } from './peer.ts';

export const PEERS: readonly Peer[] = [
  talaria,
  hermes,
  langgraph,
  mastra,
  durableMastra,
  restate,
  dbos,
  durableStreams,
];
