/**
 * The conformance suite: what a client may rely on, checked over HTTP.
 *
 * `npm run conformance` runs it against any server and reports what differs, topic by topic. By default it starts the
 * server of this repository with two keys and runs every topic against it; then again, open on loopback, for the topics
 * in which a missing key can make a difference, and in the soak tests for all but the costly ones. On Postgres one
 * server will do, without the costly topics: the store never learns whether there are keys, nor of requests that are
 * refused before. There most topics are soak tests.
 *
 * To check any other server, give its address; its model must be the scripted one of this suite, which then listens on
 * CONFORMANCE_MODEL_PORT (`OPENAI_BASE_URL=http://127.0.0.1:8643/v1 TALARIA_MODEL=scripted`):
 *
 *   CONFORMANCE_BASE_URL=http://127.0.0.1:8642 CONFORMANCE_KEY=… CONFORMANCE_OTHER_KEY=… \
 *     npx vitest run test/conformance/conformance.test.ts
 *
 * - CONFORMANCE_KEY: without it the server is assumed to be open, and the topics about keys are left out.
 * - CONFORMANCE_OTHER_KEY: without it the topic about two keys is left out.
 * - CONFORMANCE_MODEL_PORT: default 8643. CONFORMANCE_MODEL_HOST: where it listens, default 127.0.0.1.
 *
 * Approvals must ask (`approvals.isolated: ask`, the default), and there must be room for ten runs at a time.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { HostedServer } from '../support/hosted-server.ts';
import { startModelServer } from '../support/model-server.ts';
import { isOnPostgres, newStore } from '../support/store.ts';
import { describeApprovalLists, describeApprovalOwnership } from './approval-lists.ts';
import { describeApprovals } from './approvals.ts';
import { describeArtifactWrites } from './artifact-writes.ts';
import { describeArtifacts } from './artifacts.ts';
import { describeBadBodies } from './bad-bodies.ts';
import { describeBadHttp } from './bad-http.ts';
import { describeAuth, describeBasics } from './basics.ts';
import { describeCalls } from './calls.ts';
import { describeChat, describeChatSessions } from './chat.ts';
import { stopLeftRuns } from './checked-api.ts';
import { describeClientTools } from './client-tools.ts';
import { describeCompletions } from './completions.ts';
import { describeContext } from './context.ts';
import { describeCreateRun } from './create-run.ts';
import { describeCursors } from './cursors.ts';
import { describeDiff } from './diff.ts';
import { describeDiscovery } from './discovery.ts';
import { describeEncodedBodies } from './encoded-bodies.ts';
import { describeEventStream, describeKeepalive } from './event-stream.ts';
import { describeEveryAnswer, gatherDifferences } from './every-answer.ts';
import { describeFeed, describeFeedOwnership } from './feed.ts';
import { describeFileOwnership, describeFiles } from './files.ts';
import { describeFork } from './fork.ts';
import { describeIdempotency } from './idempotency.ts';
import { describeJobOwnership, describeJobs } from './jobs.ts';
import { describeKeep } from './keep.ts';
import { describeList } from './list.ts';
import { describeOwnership } from './ownership.ts';
import { describePoll } from './poll.ts';
import { recordTopics } from './record-topics.ts';
import { describeReference, describeReferenceAuth } from './reference.ts';
import { describeResponseOwnership, describeResponseSessions, describeResponses } from './responses.ts';
import { describeSessionChat } from './session-chat.ts';
import { describeSessionResources } from './session-resources.ts';
import { describeSessionOwnership, describeSessions } from './sessions.ts';
import { describeSteer } from './steer.ts';
import { describeStop } from './stop.ts';
import type { GetTarget, Target } from './target.ts';
import { describeWorkspace } from './workspace.ts';

const given = process.env.CONFORMANCE_BASE_URL;
const KEY = 'sk-conformance-one';
const OTHER_KEY = 'sk-conformance-two';

interface Topics {
  key: boolean;
  otherKey: boolean;
  /** These take ten seconds of silence, or bodies by the hundred megabytes. */
  costly: boolean;
}

type DescribeTopic = (target: GetTarget) => void;

/**
 * For an open server all others are soak tests: after a request is admitted, the server does not check again who sent
 * it.
 */
const OPEN_TOPICS = ['Paths, headers and keys', 'Discovery and health'];

/**
 * On Postgres all others are soak tests. The journal contract shows for both stores that they do the same. These topics
 * show that a server on Postgres uses every part of the store: runs and their events, lists, the feed, contents, and, as
 * those of two keys, responses, sessions, jobs, approvals and grants.
 */
const STORE_TOPICS = [
  'Idempotency keys',
  'Event streams',
  'Listing runs',
  'The feed of runs',
  'Files',
  'Two keys',
];

/** The topics in the order in which they run, and in which `npm run conformance` reports them. */
function topicsOf({ key, otherKey, costly }: Topics): [string, DescribeTopic[]][] {
  const when = (condition: boolean, ...topics: DescribeTopic[]) => (condition ? topics : []);
  return [
    ['What the reference server promises', [describeReference, ...when(key, describeReferenceAuth)]],
    ['Paths, headers and keys', [describeBasics, ...when(key, describeAuth)]],
    ['Creating runs', [describeCreateRun, describeContext]],
    ['Idempotency keys', [describeIdempotency]],
    ['Polling runs', [describePoll]],
    ['Event streams', [describeEventStream, describeCursors, ...when(costly, describeKeepalive)]],
    ['Stopping', [describeStop]],
    ['Tool calls', [describeCalls]],
    ['Approvals', [describeApprovals, describeApprovalLists]],
    ['Steering', [describeSteer]],
    ['Keeping runs', [describeKeep]],
    ['Tools of the client', [describeClientTools]],
    ['Forking', [describeFork]],
    ['Listing runs', [describeList]],
    ['The feed of runs', [describeFeed]],
    ['Artifacts', [describeArtifacts, describeArtifactWrites, describeWorkspace, describeDiff]],
    ['Files', [describeFiles]],
    ['Chat completions', [describeChat, describeCompletions, ...when(key, describeChatSessions)]],
    ['Responses', [describeResponses, ...when(key, describeResponseSessions)]],
    ['Sessions', [describeSessions, describeSessionResources, describeSessionChat]],
    ['Jobs', [describeJobs]],
    ['Discovery and health', [describeDiscovery]],
    ['Bad requests', when(costly, describeBadBodies, describeEncodedBodies, describeBadHttp)],
    [
      'Two keys',
      when(
        key && otherKey,
        describeOwnership,
        describeResponseOwnership,
        describeSessionOwnership,
        describeJobOwnership,
        describeApprovalOwnership,
        describeFeedOwnership,
        describeFileOwnership,
      ),
    ],
  ];
}

/** Runs the suite against what `open` returns; closes everything in reverse when it is done. */
function describeServer(
  name: string,
  topics: Topics,
  open: (resources: AsyncDisposableStack) => Promise<Target>,
): void {
  describe(name, () => {
    const resources = new AsyncDisposableStack();
    let target: Target;
    beforeAll(async () => {
      target = await open(resources);
    });
    afterAll(() => resources.disposeAsync());
    const all = topicsOf(topics).filter(([, parts]) => parts.length > 0);
    for (const [topic, parts] of all) {
      const isRepeated = isOnPostgres()
        ? !STORE_TOPICS.includes(topic)
        : !topics.key && !OPEN_TOPICS.includes(topic);
      describe(topic, { tags: given === undefined && isRepeated ? ['soak'] : [] }, () => {
        if (given !== undefined) stopLeftRuns();
        for (const part of parts) part(() => target);
      });
    }
    // The other servers lack some of the topics.
    if (given === undefined && topics.otherKey && topics.costly) recordTopics(all.map(([topic]) => topic));
    if (given !== undefined) describe('Every answer', describeEveryAnswer);
  });
}

if (given !== undefined) {
  const { CONFORMANCE_KEY: key, CONFORMANCE_OTHER_KEY: otherKey } = process.env;
  const topics = { key: key !== undefined, otherKey: otherKey !== undefined, costly: true };
  gatherDifferences();
  describeServer(`the server at ${given}`, topics, async (resources) => {
    const port = Number(process.env.CONFORMANCE_MODEL_PORT ?? 8643);
    const host = process.env.CONFORMANCE_MODEL_HOST ?? '127.0.0.1';
    const model = resources.use(await startModelServer({ port, host }));
    return { baseUrl: given.replace(/\/$/, ''), key, otherKey, model };
  });
} else {
  const withKeys = { key: true, otherKey: true, costly: !isOnPostgres() };
  describeServer('a server with keys', withKeys, async (resources) => {
    const model = resources.use(await startModelServer());
    const env = { ...(await newStore()), API_SERVER_KEYS: `one:${KEY},two:${OTHER_KEY}` };
    const server = resources.use(await HostedServer.start({ modelUrl: model.url, env }));
    return { baseUrl: server.url, key: KEY, otherKey: OTHER_KEY, model };
  });

  if (!isOnPostgres()) {
    const topics = { key: false, otherKey: false, costly: false };
    describeServer('an open server', topics, async (resources) => {
      const model = resources.use(await startModelServer());
      const server = resources.use(await HostedServer.start({ modelUrl: model.url }));
      return { baseUrl: server.url, model };
    });
  }
}
