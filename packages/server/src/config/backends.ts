/**
 * The backends: where tools can run. The settings offer these names, and the documents, the doctor and `/health/detailed`
 * show them. Other parts list each backend by name too, so the compiler asks for an entry: how its settings are checked
 * (containers.ts), what the doctor checks (cli/doctor) and how it is created (start/configured-backend.ts).
 */
interface BackendFacts {
  /** Completes "where tools run: …". */
  where: string;
  /** What to do if it does not start. */
  fix: string;
}

export const BACKENDS = {
  local: {
    where: 'on this machine',
    fix: 'Install bubblewrap, or let it choose with TALARIA_SANDBOX_ISOLATION=auto',
  },
  docker: {
    where: 'in Docker containers (docs/docker.md)',
    fix: 'See docs/docker.md, or use TALARIA_BACKEND=local',
  },
  kubernetes: {
    where: 'in pods of a Kubernetes cluster (docs/kubernetes.md)',
    fix: 'See docs/kubernetes.md, or use TALARIA_BACKEND=local',
  },
  modal: {
    where: 'in sandboxes of Modal (docs/modal.md)',
    fix: 'See docs/modal.md, or use TALARIA_BACKEND=local',
  },
  nomad: {
    where: 'in tasks of a Nomad cluster (docs/nomad.md)',
    fix: 'See docs/nomad.md, or use TALARIA_BACKEND=local',
  },
} as const satisfies Record<string, BackendFacts>;

export type BackendName = keyof typeof BACKENDS;

export const BACKEND_NAMES = Object.keys(BACKENDS) as BackendName[];

export function whereToolsRun(): string {
  const places = Object.values<BackendFacts>(BACKENDS).map(({ where }) => where);
  return `where tools run: ${places.slice(0, -1).join(', ')}, or ${places.at(-1)}`;
}
