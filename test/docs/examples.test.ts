// Tests the recipes below examples/ as far as can be without GitHub: its own parser accepts the workflows and
// the action, what they name exists, and no text of a caller is pasted into a script. What their scripts do
// is tested in test/service/examples.test.ts.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  convertWorkflowTemplate,
  NoOperationTraceWriter,
  parseWorkflow,
} from '@actions/workflow-parser';
import { parseAction } from '@actions/workflow-parser/actions/action-parser';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';

type Step = {
  readonly run?: string;
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string>>;
};
type Workflow = { readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>> };
type Action = {
  readonly inputs: Readonly<Record<string, { readonly required?: boolean }>>;
  readonly runs: { readonly steps: readonly (Step & { readonly env: object })[] };
};

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));
const WORKFLOWS = readdirSync(`${EXAMPLES}/github-actions`);
const EXPRESSION = /\$\{\{/;

function read(path: string): string {
  return readFileSync(`${EXAMPLES}/${path}`, 'utf8');
}

/** Returns what GitHub would say against a workflow. */
async function faultsOf(content: string): Promise<string[]> {
  const file = { name: 'release.yml', content };
  const { context, value } = parseWorkflow(file, new NoOperationTraceWriter());
  if (value !== undefined) await convertWorkflowTemplate(context, value);
  return context.errors.getErrors().map(({ message }) => message);
}

const action = load(read('publish-action/action.yml')) as Action;

describe.each(WORKFLOWS)('the workflow %s', (name) => {
  const content = read(`github-actions/${name}`);
  const { jobs } = load(content) as Workflow;
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  it('is one that GitHub accepts', async () => {
    expect(await faultsOf(content)).toEqual([]);
    expect(await faultsOf(content.replace('needs: build', 'nedes: build'))).not.toEqual([]);
    expect(await faultsOf(content.replace('needs: build', 'needs: nothing'))).not.toEqual([]);
  });

  it('gives the action what it takes and needs, and pastes nothing into a script', () => {
    const [step] = steps.filter(({ uses }) => uses === './.github/actions/sluice');
    const given = Object.keys(step?.with ?? {});
    const required = Object.entries(action.inputs).filter(([, input]) => input.required);
    expect(Object.keys(action.inputs)).toEqual(expect.arrayContaining(given));
    expect(given).toEqual(expect.arrayContaining(required.map(([input]) => input)));
    const scripts = steps.flatMap(({ run }) => run ?? []);
    expect(scripts.length).toBeGreaterThan(0);
    expect(scripts.filter((script) => EXPRESSION.test(script))).toEqual([]);
  });
});

it('the action is one that GitHub accepts, pastes nothing into its script, and hands every input over', () => {
  const content = read('publish-action/action.yml');
  const faults = (text: string) => {
    const file = { name: 'action.yml', content: text };
    return parseAction(file, new NoOperationTraceWriter()).context.errors.getErrors();
  };
  expect(faults(content)).toEqual([]);
  expect(faults(content.replace('using: composite', 'usign: composite'))).not.toEqual([]);
  const [step] = action.runs.steps;
  expect(step?.run).not.toMatch(EXPRESSION);
  const env = JSON.stringify(step?.env);
  for (const input of Object.keys(action.inputs)) expect(env).toContain(`inputs.${input} }}`);
  const script = read('publish-action/publish.sh');
  // The key and the address of the service are read by the command itself.
  const own = Object.keys(step?.env ?? {}).filter((name) => !/^SLUICE_(?:URL|KEY)$/.test(name));
  for (const name of own) expect(`${script} ${step?.run}`).toContain(name);
});
