// Page of a device id that is not on record: what a device of a given platform and version would get.

import { useState } from 'preact/hooks';
import type { AppOverview } from '../../contract/console.ts';
import type { Explanation } from '../../contract/explanation.ts';
import { Choice, Field } from '../form/field.tsx';
import { Form, useFields } from '../form/form.tsx';
import { LoadedView } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { toldText, verdictText } from '../format/decision-text.ts';
import { channelNames } from '../format/serving.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge } from '../part/badge.tsx';
import { Card } from '../part/card.tsx';
import { Name } from '../part/name.tsx';
import { PageHead } from '../part/page-head.tsx';

type Told = Readonly<Record<'channel' | 'platform' | 'arch' | 'version', string>>;

/** Page with a form that describes the device, and the decision for it. Records nothing. */
export function NeverSeenPage({ app, deviceId }: { app: AppOverview; deviceId: string }) {
  const [first] = channelNames(app);
  const { values: told, field } = useFields<keyof Told>({
    channel: first ?? '',
    ...{ platform: 'darwin', arch: 'aarch64', version: '' },
  });
  const [asked, setAsked] = useState<Told>();
  return (
    <>
      <PageHead
        title={<Name text={deviceId} isCode />}
        lead={<a href={consolePath.devices(app.ref)}>← Devices of {app.name}</a>}
      />
      <Card title="Never seen">
        <p>
          No device with this id is on record: it never asked {app.name} for an update, was not seen
          for so long that it was forgotten, or its id is another one. What would it get if it
          asked?
        </p>
        <Form label="A device like this" send="Show" onSend={async () => setAsked(told)}>
          <div class="columns">
            <Choice
              label="Channel"
              value={told.channel}
              options={app.channels.map(({ name }) => name)}
              onChoose={field('channel').onInput}
            />
            <Field label="Platform" isRequired {...field('platform')} />
            <Field label="Architecture" {...field('arch')} />
            <Field label="Version" isCode {...field('version')} />
          </div>
        </Form>
        {/* Hidden after an input, because the answer is about the former values. */}
        {asked === told && (
          <WouldGet key={JSON.stringify(told)} app={app.ref} deviceId={deviceId} told={told} />
        )}
      </Card>
    </>
  );
}

function WouldGet(props: { app: string; deviceId: string; told: Told }) {
  const { app, deviceId, told } = props;
  const decision = useLoad(`decision/told${queryText({ app, deviceId, ...told })}`);
  return (
    <LoadedView of={decision}>
      {(found) => (
        <div class="would-get stack" role="status">
          <p class="decision-offer">{found.decision.update?.version ?? 'Nothing'}</p>
          <p>{toldText(found.decision)}</p>
          <Candidates app={app} candidates={found.candidates} />
        </div>
      )}
    </LoadedView>
  );
}

function Candidates({ app, candidates }: Pick<Explanation, 'candidates'> & { app: string }) {
  if (candidates.length === 0) return null;
  return (
    <ol class="candidates stack" aria-label="Releases considered, newest first">
      {candidates.map((candidate) => (
        <li
          key={`${candidate.channel}@${candidate.version}`}
          class={candidate.verdict === 'offered' ? 'chosen' : ''}
        >
          <a
            class="code strong"
            href={consolePath.release(app, candidate.channel, candidate.version)}
          >
            {candidate.version}
          </a>
          <Badge tone={candidate.verdict === 'offered' ? 'good' : 'quiet'}>
            {verdictText(candidate)}
          </Badge>
        </li>
      ))}
    </ol>
  );
}
