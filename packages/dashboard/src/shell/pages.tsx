/** Which page an address shows. Each page but the first is loaded when it is first opened. */
import type { ComponentChildren } from 'preact';
import type { Place } from '../navigation/router.ts';
import { Home } from '../pages/home/home.tsx';
import { lazy } from '../ui/lazy.tsx';

const Run = lazy(async () => (await import('../pages/run/run.tsx')).RunPage);
const Chats = lazy(async () => (await import('../pages/chats/chats.tsx')).ChatsPage);
const Jobs = lazy(async () => (await import('../pages/jobs/jobs.tsx')).JobsPage);
const Rules = lazy(async () => (await import('../pages/rules/rules.tsx')).RulesPage);
const Server = lazy(async () => (await import('../pages/server/server.tsx')).ServerPage);

export interface Section {
  /** The first part of its addresses. */
  path: string;
  name: string;
}

/** What the navigation lists. */
export const SECTIONS: readonly Section[] = [
  { path: '', name: 'Runs' },
  { path: 'chats', name: 'Chats' },
  { path: 'jobs', name: 'Jobs' },
  { path: 'rules', name: 'Rules' },
  { path: 'server', name: 'Server' },
];

export function pageOf({ path }: Place): ComponentChildren {
  const [section = '', id] = path;
  switch (section) {
    case '':
      return <Home />;
    case 'runs':
      return id === undefined ? <Home /> : <Run key={id} runId={id} />;
    case 'chats':
      return <Chats sessionId={id} />;
    case 'jobs':
      return <Jobs />;
    case 'rules':
      return <Rules />;
    case 'server':
      return <Server />;
    default:
      return <NotFound />;
  }
}

function NotFound() {
  return (
    <main>
      <h1>There is no such page</h1>
      <a href="./">All runs</a>
    </main>
  );
}
