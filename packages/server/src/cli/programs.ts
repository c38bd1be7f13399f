/** What each command does, imported when it is called: a listing need not wait for a server to load. */
import type { Arguments, CommandKey } from './commands.ts';
import type { Terminal } from './terminal.ts';

/** Returns the exit code. */
export type Program<Key extends CommandKey> = (args: Arguments<Key>, terminal: Terminal) => Promise<number>;

const programs: { readonly [Key in CommandKey]: () => Promise<Program<Key>> } = {
  serve: async () => (await import('./serve.ts')).serve,
  run: async () => (await import('./follow/run.ts')).run,
  fork: async () => (await import('./follow/fork.ts')).fork,
  watch: async () => (await import('./follow/watch.ts')).watch,
  runs: async () => (await import('./runs/list.ts')).listRuns,
  show: async () => (await import('./runs/show.ts')).showRun,
  approve: async () => (await import('./runs/approve.ts')).approve,
  approvals: async () => (await import('./runs/approvals.ts')).listApprovals,
  grantsList: async () => (await import('./runs/approvals.ts')).listGrants,
  grantsRevoke: async () => (await import('./runs/approvals.ts')).revokeGrant,
  ui: async () => (await import('./ui.ts')).openUi,
  answer: async () => (await import('./runs/answer.ts')).answer,
  stop: async () => (await import('./runs/stop.ts')).stop,
  keep: async () => (await import('./runs/keep.ts')).keep,
  steer: async () => (await import('./runs/steer.ts')).steer,
  diff: async () => (await import('./workspace/diff/diff.ts')).showDiff,
  apply: async () => (await import('./workspace/apply/apply.ts')).apply,
  cp: async () => (await import('./workspace/cp/cp.ts')).copy,
  artifactsLs: async () => (await import('./artifacts/ls.ts')).listArtifacts,
  artifactsCat: async () => (await import('./artifacts/cat.ts')).printArtifact,
  artifactsGet: async () => (await import('./artifacts/get.ts')).getArtifact,
  filesPut: async () => (await import('./files/put.ts')).putFiles,
  filesLs: async () => (await import('./files/ls.ts')).listFiles,
  filesGet: async () => (await import('./files/get.ts')).getFile,
  filesRm: async () => (await import('./files/rm.ts')).removeFiles,
  jobsList: async () => (await import('./jobs.ts')).listJobs,
  jobsShow: async () => (await import('./jobs.ts')).showJob,
  jobsCreate: async () => (await import('./jobs.ts')).createJob,
  jobsPause: async () => (await import('./jobs.ts')).pauseJob,
  jobsResume: async () => (await import('./jobs.ts')).resumeJob,
  jobsRun: async () => (await import('./jobs.ts')).runJob,
  jobsDelete: async () => (await import('./jobs.ts')).deleteJob,
  doctor: async () => (await import('./doctor/doctor.ts')).doctor,
  migrateStore: async () => (await import('./migrate-store/migrate-store.ts')).migrateStore,
  sandboxImage: async () => (await import('./sandbox-image.ts')).printImageContext,
  config: async () => (await import('./print-config.ts')).printConfig,
  completion: async () => (await import('./completion/completion.ts')).printCompletion,
};

/** The arguments were read by the spec of the same key. */
export async function runProgram(key: CommandKey, args: unknown, terminal: Terminal): Promise<number> {
  const program = (await programs[key]()) as (args: unknown, terminal: Terminal) => Promise<number>;
  return program(args, terminal);
}
