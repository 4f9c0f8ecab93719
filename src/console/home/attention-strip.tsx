// Strip at the top of the overview: what needs attention, each with its time, its reason, and one button.

import type { AttentionItem, AttentionKind } from '../../contract/attention.ts';
import { MISTAKEN_ID_WORDS, type MistakenId } from '../../contract/ref.ts';
import { BARE_REASON } from '../../contract/rollout-plan.ts';
import { LoadedView } from '../form/notice.tsx';
import { consolePath, queryText } from '../format/console-path.ts';
import { capitalized, countText } from '../format/figure-text.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge, type Tone } from '../part/badge.tsx';
import { Card, HelpLink } from '../part/card.tsx';
import { StrongName } from '../part/name.tsx';
import { Time } from '../part/time.tsx';
import { useOrganization } from '../session/use-session.ts';

const REFRESH_MS = 5000;

/** List of what needs attention; one line if nothing does. */
export function AttentionStrip() {
  const { id: org } = useOrganization();
  const attention = useLoad(`attention${queryText({ org })}`, REFRESH_MS);
  return (
    <LoadedView of={attention}>
      {({ items, isWhole }) =>
        items.length === 0 ? (
          <p class="hint calm">Nothing needs you.</p>
        ) : (
          <Card
            title="Needs you"
            aside={
              <span class="muted">
                <Count count={items.length} isWhole={isWhole} />{' '}
                <HelpLink to="guard">Plans and guards</HelpLink>
              </span>
            }
            isFlush
          >
            <ul class="rows attention">
              {items.map((item) => (
                <AttentionRow
                  key={`${item.kind} ${pathOf(item)} ${item.id} ${item.app} ${item.name}`}
                  item={item}
                />
              ))}
            </ul>
          </Card>
        )
      }
    </LoadedView>
  );
}

function Count({ count, isWhole }: { count: number; isWhole: boolean }) {
  return <>{isWhole ? countText(count, 'thing') : `The first ${countText(count, 'thing')}`} ·</>;
}

type Look = {
  readonly label: string;
  readonly tone: Tone;
  /** Reason, if the service recorded none. */
  readonly why: (item: AttentionItem) => string;
};

const LOOKS: Readonly<Record<AttentionKind, Look>> = {
  tripped: { label: 'Stopped by its guard', tone: 'bad', why: () => 'A guard has tripped.' },
  uninstallable: {
    ...{ label: 'Nobody can install it', tone: 'bad' },
    why: () => 'It is published without a file that a device could install.',
  },
  disabled: { label: 'Switched off', tone: 'bad', why: () => 'It gets no notifications.' },
  failing: {
    ...{ label: 'Not delivered', tone: 'warn' },
    why: () => 'Notifications do not arrive, and are tried again.',
  },
  edge: {
    ...{ label: 'Edge refused', tone: 'warn' },
    why: () => 'It goes on asking with a token that was revoked.',
  },
  'mistaken-ids': {
    ...{ label: 'Devices without an id', tone: 'warn' },
    why: ({ name, count }) =>
      `${countText(count ?? 0, 'request')} named the device by ${mistakeText(name)}. Such a device is in ` +
      'no staged rollout and on no list. Let the app make an id once, keep it, and send it.',
  },
  waiting: { label: 'Plan waits', tone: 'warn', why: () => 'A guard holds up the next step.' },
  held: { label: 'Plan held', tone: 'warn', why: () => 'The rollout stays where it is.' },
  'called-back': {
    ...{ label: 'Paused by itself', tone: 'warn' },
    why: () => 'Its code host has taken it back.',
  },
  landed: { label: 'Not published yet', tone: 'live', why: () => 'It waits to be published.' },
  approval: {
    label: 'Asks for approval',
    tone: 'live',
    why: () => 'It waits for a second person.',
  },
};

/** Returns a kind of mistaken id in words; a kind that only a newer node knows is returned as it is. */
function mistakeText(kind: string | null): string {
  return kind !== null && kind in MISTAKEN_ID_WORDS
    ? MISTAKEN_ID_WORDS[kind as MistakenId]
    : `"${kind ?? ''}"`;
}

/** Why a release from a code host is not published, by the name that the service recorded. */
const LANDED: Readonly<Record<string, string>> = {
  expecting: 'It waits for the rest of its files.',
  'by-hand': 'It waits for a person to publish it.',
};

function AttentionRow({ item }: { item: AttentionItem }) {
  const { kind, since, why, version, name } = item;
  const look = LOOKS[kind];
  const words = kind === 'landed' ? LANDED[why ?? ''] : why === BARE_REASON.hold ? undefined : why;
  const place = [item.app, item.channel].filter((part) => part !== null).join('/');
  return (
    <li>
      <p class="attention-what row">
        <Badge tone={look.tone}>{look.label}</Badge>{' '}
        <StrongName text={[place, version].filter(Boolean).join(' ') || (name ?? '')} isCode />{' '}
        <span class="muted">
          <Time at={since} never="since a time that is not known" />
        </span>
      </p>
      <p class="attention-why hint">{capitalized(words ?? look.why(item))}</p>
      <a class="button plain small" href={pathOf(item)}>
        Open<span class="unseen"> {[place, version ?? name].filter(Boolean).join(' ')}</span>
      </a>
    </li>
  );
}

/** Returns the page where a person can do something about it. */
function pathOf({ kind, app, channel, version, id }: AttentionItem): string {
  if (kind === 'approval') return `${consolePath.approvals}/${encodeURIComponent(id ?? '')}`;
  if (kind === 'edge') return `${consolePath.help}#edge`;
  if (kind === 'mistaken-ids') return `${consolePath.help}#device-id`;
  if (app === null || channel === null) return consolePath.settings('notifications');
  return consolePath.release(app, channel, version ?? '');
}
