// What is left to do until a first device asks for updates of an app.

import type { ComponentChildren } from 'preact';
import type { AppOverview } from '../../contract/console.ts';
import { consolePath, queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Card } from '../part/card.tsx';
import { CopyButton } from '../part/copy-button.tsx';
import { useOrganization } from '../session/use-session.ts';

const STEPS_REFRESH_MS = 5000;

/**
 * Checklist for an app that no device has asked about; nothing for others, or for an archived one, which
 * takes no release. `base` is the service's URL.
 */
export function FirstSteps(props: { app: AppOverview; channel: string; base: string }) {
  const { app, channel, base } = props;
  const { id: org } = useOrganization();
  const isNew = app.devices === 0 && app.archivedAt === null;
  const keys = useLoad(isNew ? `keys${queryText({ org })}` : null, STEPS_REFRESH_MS);
  if (!isNew) return null;
  const isPublished = app.channels.some(({ releases }) => releases > 0);
  const hasKey = keys.data?.keys.some(({ revokedAt }) => revokedAt === null) ?? false;
  const address = `${base}/u/${encodeURIComponent(app.ref)}/${encodeURIComponent(channel)}`;
  const line = `curl -i -H 'X-Service-Device: my-first-device' ${address}/darwin/aarch64/0.0.1`;
  return (
    <Card title="First steps">
      <ol class="steps-list">
        <Step isDone>Create the app {app.name}.</Step>
        <Step isDone={isPublished}>Publish a release, here or from your build.</Step>
        <Step isDone={hasKey}>
          <a href={consolePath.settings('keys')}>Mint a key</a> for your build, so that it can
          publish by itself.
        </Step>
        <Step isDone={false}>
          Let a device ask: <code>{line}</code> <CopyButton text={line} what="command" />
        </Step>
      </ol>
    </Card>
  );
}

function Step({ isDone, children }: { isDone: boolean; children: ComponentChildren }) {
  return (
    <li class={isDone ? 'done' : ''}>
      <span aria-hidden="true">{isDone ? '✓' : '○'}</span>
      <span>
        <span class="unseen">{isDone ? 'Done: ' : 'To do: '}</span>
        {children}
      </span>
    </li>
  );
}
