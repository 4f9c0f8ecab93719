// Configuration of the run of `reach.ts`, which copies it beside a copy of the tree's own.

import { join } from 'node:path';
import base from '../../vitest.config.ts';

const SETUP = join(import.meta.dirname, 'reach-setup.ts');
const ONE_AT_A_TIME = { maxWorkers: 1, fileParallelism: false } as const;

type Project = { readonly test: { readonly setupFiles?: readonly string[] } };

const { test } = base as { readonly test: { readonly projects: readonly Project[] } };

export default {
  root: join(import.meta.dirname, '..', '..'),
  test: {
    ...test,
    ...ONE_AT_A_TIME,
    projects: test.projects.map((project) => ({
      test: {
        ...project.test,
        ...ONE_AT_A_TIME,
        setupFiles: [...(project.test.setupFiles ?? []), SETUP],
      },
    })),
  },
};
