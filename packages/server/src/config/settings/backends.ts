/**
 * The backends: where tools can run. Settings, help, documents, doctor and `/health/detailed` take names and facts from
 * this table. What is code has an entry per backend elsewhere, and the compiler asks for it: the rules between its
 * settings (config/backend-rules.ts), what the doctor checks (cli/doctor/backend-checks.ts), how it is created
 * (start/configured-backend.ts) and its columns in docs/backends.md (docs/tables/backends/backend-table.ts).
 */
interface BackendFacts {
  /** Completes "where tools run: …". */
  where: string;
  /** Says what it needs and what it enforces; undefined for the one that needs nothing else. */
  page: string | undefined;
  /** Whether runs can work in a directory of the operator itself. */
  mounts: boolean;
}

export const BACKENDS = {
  local: { where: 'on this machine', page: undefined, mounts: true },
  docker: { where: 'in Docker containers', page: 'docs/docker.md', mounts: false },
  kubernetes: { where: 'in pods of a Kubernetes cluster', page: 'docs/kubernetes.md', mounts: false },
  modal: { where: 'in sandboxes of Modal', page: 'docs/modal.md', mounts: false },
  nomad: { where: 'in tasks of a Nomad cluster', page: 'docs/nomad.md', mounts: false },
} as const satisfies Record<string, BackendFacts>;

export type BackendName = keyof typeof BACKENDS;

export const BACKEND_NAMES = Object.keys(BACKENDS) as BackendName[];

export function whereToolsRun(): string {
  const places = Object.values<BackendFacts>(BACKENDS).map(({ where, page }) =>
    page === undefined ? where : `${where} (${page})`,
  );
  return `where tools run: ${places.slice(0, -1).join(', ')}, or ${places.at(-1)}`;
}
