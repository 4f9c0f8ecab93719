// Destinations of notifications: the events that each gets, whether it works, the messages to it, and the
// owners' actions.

import { useState } from 'preact/hooks';
import type {
  Destination,
  IssuedDestination,
  NotificationDelivery,
} from '../../contract/notification.ts';
import { call } from '../api/call.ts';
import { ConfirmDialog, type DialogEnd, useDialog } from '../form/dialog.tsx';
import { LoadedView, Notice } from '../form/notice.tsx';
import { SmallButton } from '../form/small-button.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { destinationText, KIND_NAMES, recipientText, tryText } from '../format/destination.ts';
import { numberText } from '../format/figure-text.ts';
import { useAction } from '../hook/use-action.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge, type Tone } from '../part/badge.tsx';
import { Card, Empty } from '../part/card.tsx';
import { buttonColumn, type Column, DataTable } from '../part/data-table.tsx';
import { Name, None } from '../part/name.tsx';
import { Time, useNow } from '../part/time.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';
import { DestinationDialog, DestinationSecret } from './destination-dialog.tsx';

const REFRESH_MS = 10_000;
/** Frequent, because a test is delivered within a second or two. */
const DELIVERIES_MS = 3000;

/** Section with a card per destination; only for owners, because addresses are often secrets. */
export function NotificationSettings() {
  if (useMay('owner')) return <Destinations />;
  return <Empty title="Owners choose who is told what happens here." />;
}

function Destinations() {
  const { id: org } = useOrganization();
  const loaded = useLoad(`destinations${queryText({ org })}`, REFRESH_MS);
  const [dialog, show] = useDialog(loaded.reload);
  const add = () => show((end) => <DestinationDialog {...end} />);
  return (
    <>
      <p>
        <button type="button" class="button primary" onClick={add}>
          Add a destination…
        </button>
      </p>
      {dialog}
      <LoadedView of={loaded}>
        {({ destinations }) =>
          destinations.length === 0 ? (
            <Empty title="Nobody is told what happens here">
              A webhook, Slack or a mail tells of releases, plans, keys and members.
            </Empty>
          ) : (
            destinations.map((each) => (
              <DestinationCard key={each.id} destination={each} onChanged={loaded.reload} />
            ))
          )
        }
      </LoadedView>
    </>
  );
}

/** Actions that need a confirmation: title before the name, button, consequence, and call. */
const QUESTIONS = {
  secret: {
    title: 'New secret for',
    verb: 'Make new secret',
    consequence: 'Messages are signed with the present secret as well for another day.',
    send: (id: string) => call('POST', `destinations/${id}/rotate`),
  },
  off: {
    title: 'Turn off',
    verb: 'Turn off',
    consequence:
      'What waits for it is dropped, and what happens while it is off is not sent later.',
    send: (id: string) => call('PATCH', `destinations/${id}`, { enabled: false }),
  },
  remove: {
    title: 'Remove',
    verb: 'Remove destination',
    consequence: 'It is told nothing more, and the list of its messages is gone.',
    send: (id: string) => call('DELETE', `destinations/${id}`),
  },
} as const;

function DestinationCard(props: { destination: Destination; onChanged: () => Promise<void> }) {
  const { destination, onChanged } = props;
  const { id, kind, name, url, to, enabled } = destination;
  const [dialog, show] = useDialog(onChanged);
  const [isListed, setListed] = useState(false);
  const action = useAction();
  const test = () =>
    void action.run(async () => {
      await call('POST', `destinations/${id}/test`);
      setListed(true);
    });
  const asksRecipient = recipientText(destination) !== undefined;
  const change = (work: () => Promise<unknown>) =>
    action.run(async () => {
      await work();
      await onChanged();
    });
  const sendLink = () => void change(() => call('POST', `destinations/${id}/link`));
  const turnOn = () => void change(() => call('PATCH', `destinations/${id}`, { enabled: true }));
  const edit = () => show((end) => <DestinationDialog of={destination} {...end} />);
  const ask = (question: keyof typeof QUESTIONS) =>
    show((end) => <QuestionDialog destination={destination} question={question} {...end} />);
  const button = (label: string, onClick: () => void) => (
    <SmallButton of={name} isDisabled={action.isBusy} onClick={onClick}>
      {label}
    </SmallButton>
  );
  return (
    <Card title={name} aside={<StateBadge destination={destination} />} isFlush>
      <div class="stack padded">
        <p>
          {KIND_NAMES[kind]} <span class="code">{url ?? to}</span>{' '}
          <span class="muted">
            since <Time at={destination.createdAt} />
          </span>
        </p>
        <p class="hint">{destinationText(destination)}</p>
        <Trouble destination={destination} />
        <div class="form-actions row">
          {enabled && button('Send a test', test)}
          {asksRecipient && button('Send the link again', sendLink)}
          {button('Change…', edit)}
          {kind === 'webhook' && button('New secret…', () => ask('secret'))}
          {enabled ? button('Turn off…', () => ask('off')) : button('Turn on', turnOn)}
          {button('Remove…', () => ask('remove'))}
        </div>
        {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
        <details
          open={isListed}
          onToggle={(event) => setListed(event.currentTarget.open)}
          aria-label={`Messages to ${name}`}
        >
          <summary>Messages of the last 7 days</summary>
          {isListed && <Deliveries destination={destination} />}
        </details>
      </div>
      {dialog}
    </Card>
  );
}

function StateBadge({ destination }: { destination: Destination }) {
  const { enabled, failingSince } = destination;
  if (!enabled) return <Badge tone="bad">Off</Badge>;
  if (recipientText(destination) !== undefined) return <Badge tone="warn">Not confirmed</Badge>;
  return failingSince === null ? <Badge tone="good">On</Badge> : <Badge tone="warn">Failing</Badge>;
}

/** Sentences on why nothing is sent, or since when nothing arrives. */
function Trouble({ destination }: { destination: Destination }) {
  const { id, enabled, disabledWhy, failingSince } = destination;
  const unreached = recipientText(destination);
  if (enabled && failingSince === null && unreached === undefined) return null;
  return (
    <p class="bad-text">
      {unreached !== undefined && `${unreached} `}
      {!enabled && (disabledWhy === null ? 'A person turned it off. ' : `Off: ${disabledWhy}. `)}
      {failingSince !== null && (
        <>
          Every try fails since <Time at={failingSince} />.{' '}
        </>
      )}
      {!enabled && (
        <a class="link" href={`${consolePath.audit}${queryText({ subject: id })}`}>
          Its history
        </a>
      )}
    </p>
  );
}

/** Dialog that confirms an action on a destination, and shows the new secret if there is one. */
function QuestionDialog(
  props: DialogEnd & { destination: Destination; question: keyof typeof QUESTIONS },
) {
  const { destination, question, ...end } = props;
  const { id, name } = destination;
  const { title, verb, consequence, send } = QUESTIONS[question];
  return (
    <ConfirmDialog
      title={`${title} ${name}`}
      verb={verb}
      onSend={(): Promise<Partial<IssuedDestination>> => send(id)}
      then={({ secret }) =>
        secret && <DestinationSecret name={name} secret={secret} onClose={end.onClose} />
      }
      {...end}
    >
      <p>{consequence}</p>
    </ConfirmDialog>
  );
}

/** Messages to a destination, newest first, a page at a time. */
function Deliveries({ destination: { id, enabled } }: { destination: Destination }) {
  const [before, setBefore] = useState<string>();
  const loaded = useLoad(`destinations/${id}/deliveries${queryText({ before })}`, DELIVERIES_MS);
  const action = useAction();
  const again = buttonColumn<NotificationDelivery>(
    'Again',
    ({ type }) => type,
    (delivery) =>
      void action.run(async () => {
        await call('POST', `destinations/${id}/deliveries/${delivery.id}/send-again`);
        await loaded.reload();
      }),
    () => 'Send again',
  );
  return (
    <LoadedView of={loaded}>
      {({ deliveries, next }) => (
        <>
          {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
          {deliveries.length === 0 ? (
            <p class="hint">It was told nothing yet.</p>
          ) : (
            <DataTable
              caption="Messages, newest first"
              columns={enabled ? [...COLUMNS, again] : COLUMNS}
              rows={deliveries}
            />
          )}
          <div class="form-actions row">
            {before !== undefined && (
              <button type="button" class="link" onClick={() => setBefore(undefined)}>
                ← Newest
              </button>
            )}
            {next !== null && (
              <button type="button" class="link" onClick={() => setBefore(next)}>
                Older →
              </button>
            )}
          </div>
        </>
      )}
    </LoadedView>
  );
}

const STATE_TONES: Readonly<Record<NotificationDelivery['state'], Tone>> = {
  waiting: 'live',
  delivered: 'good',
  failed: 'bad',
  dropped: 'quiet',
};

const COLUMNS: readonly Column<NotificationDelivery>[] = [
  { label: 'Event', render: ({ type }) => <span class="code whole">{type}</span> },
  {
    label: 'State',
    render: ({ state }) => <Badge tone={STATE_TONES[state]}>{state}</Badge>,
  },
  { label: 'Last try', isNamed: true, render: ({ tries }) => <Time at={tries.at(-1)?.at} /> },
  { label: 'Answer', render: (delivery) => <Name text={tryText(delivery)} /> },
  {
    label: 'Took',
    isNumber: true,
    render: ({ tries }) => {
      const last = tries.at(-1);
      return last === undefined ? <None /> : `${numberText(last.ms)} ms`;
    },
  },
  { label: 'Next try', isNamed: true, render: ({ nextAt }) => <NextTry at={nextAt} /> },
];

const MINUTE_MS = 60_000;

function NextTry({ at }: { at: string | null }) {
  const now = useNow();
  if (at === null || Date.parse(at) > now + MINUTE_MS) return <Time at={at} />;
  return <>within a minute</>;
}
