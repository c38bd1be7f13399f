import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { readBuiltFiles } from '../ui/built-files.ts';
import { installUiRoutes } from './ui.ts';

it.each([undefined, '/nonexistent/dist'])(
  'says how to build the page where %s has none',
  async (directory) => {
    const app = Fastify();
    installUiRoutes(app, readBuiltFiles(directory));
    for (const url of ['/ui/', '/ui/runs/run_1', '/ui/approve/run_1/apr_1']) {
      const answer = await app.inject({ url, headers: { accept: 'text/html' } });
      expect(answer.statusCode).toBe(503);
      expect(answer.body).toContain('npm run build:ui');
      expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
    }
  },
);
