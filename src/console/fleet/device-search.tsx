// Search of devices: a text field for an id, a version or a label, selects beside it, and the present
// criteria as chips. The criteria are query parameters, so that a link includes them.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { SIGNALS } from '../../contract/choice.ts';
import type { AppOverview, LabelCounts } from '../../contract/console.ts';
import type { Signal } from '../../contract/rollout-plan.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import { Choice, Field, optionsOf } from '../form/field.tsx';
import { queryText } from '../format/console-path.ts';
import { channelNames } from '../format/serving.ts';
import { useLoad } from '../hook/use-load.ts';

type Query = Readonly<Record<string, string>>;

const SEEN_MS: Readonly<Record<string, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
};

/** Query parameters that select devices, with the labels of their chips. */
const CHIPS = {
  id: 'id',
  version: 'version',
  below: 'version below',
  channel: 'channel',
  platform: 'platform',
  label: 'label',
  offered: 'last offered',
  moved: 'installed what was offered',
  seen: 'seen in the last',
  signal: 'signal',
  release: 'of release',
} as const;

type Name = keyof typeof CHIPS;
const NAMES = Object.keys(CHIPS) as readonly Name[];

/** Reads a query: returns the filter in the form of the service, and whether the criteria are complete. */
export function readSearch(query: Query) {
  const { id, version, below, channel, platform, label, offered, moved } = query;
  const signal = readSignal(query.signal);
  const filter = {
    ...{ id, version, below, channel, platform, label, offered },
    ...{ moved: moved === '' ? undefined : moved, seenSince: seenSince(query.seen) },
  };
  const { release = '' } = query;
  return {
    filter,
    signal,
    release,
    isFiltered: NAMES.some((name) => (query[name] ?? '') !== ''),
    /** Whether the query names the release of its signal, if it has a signal. */
    isWhole: signal === undefined || (release !== '' && (channel ?? '') !== ''),
  };
}

/** Returns the signal of a query; undefined if there is none or it is unknown. */
function readSignal(text: string | undefined): Signal | undefined {
  return SIGNALS.find((signal) => signal === text);
}

/** Returns the start of the selected time range, in whole minutes; undefined for any time. */
function seenSince(seen: string | undefined): string | undefined {
  const spanMs = seen !== undefined && Object.hasOwn(SEEN_MS, seen) ? SEEN_MS[seen] : undefined;
  if (spanMs === undefined) return undefined;
  return new Date(Math.floor(Date.now() / 60_000) * 60_000 - spanMs).toISOString();
}

/** Returns the criterion of a text: `key=value` is a label, `1.2` or `<1.2` a version, else part of an id. */
function readLine(text: string): Readonly<Partial<Record<Name, string>>> {
  const line = text.trim();
  if (/^[^=\s]+=/.test(line)) return { label: line };
  const [, below] = /^<\s*(\S+)$/.exec(line) ?? [];
  if (below !== undefined && parseVersion(below) !== undefined) return { below };
  return parseVersion(line) !== undefined && line.includes('.') ? { version: line } : { id: line };
}

export function DeviceSearch({ app, query }: { app: AppOverview; query: Query }) {
  const { route } = useLocation();
  const [line, setLine] = useState('');
  const labels = useLoad(`labels${queryText({ app: app.ref })}`);
  const apply = (changed: Readonly<Record<string, string | undefined>>) =>
    route(`${location.pathname}${queryText({ ...query, ...changed, after: undefined })}`, true);
  return (
    <search>
      <form
        class="search"
        aria-label="Search devices"
        onSubmit={(event) => {
          event.preventDefault();
          if (line.trim() === '') return;
          apply(readLine(line));
          setLine('');
        }}
      >
        <Field
          label="Find devices"
          type="search"
          value={line}
          onInput={setLine}
          placeholder="Part of an id, 1.2.0, <1.2.0 or ring=canary"
          options={labelOptions(labels.data)}
        />
        <button type="submit" class="button plain">
          Find
        </button>
        <Choices app={app} query={query} onChoose={apply} />
      </form>
      <Chips query={query} onRemove={(name) => apply({ [name]: undefined })} />
    </search>
  );
}

const SEEN = optionsOf({ '': 'Any time', hour: 'Last hour', day: 'Last day', week: 'Last week' });

function Choices(props: {
  app: AppOverview;
  query: Query;
  onChoose: (changed: Readonly<Record<string, string>>) => void;
}) {
  const { app, query, onChoose } = props;
  return (
    <>
      <Choice
        label="Channel"
        value={query.channel ?? ''}
        options={[{ value: '', label: 'Any' }, ...channelNames(app)]}
        onChoose={(channel) => onChoose({ channel })}
      />
      <Choice
        label="Seen"
        value={query.seen ?? ''}
        options={SEEN}
        onChoose={(seen) => onChoose({ seen })}
      />
      <Choice
        label="Signal"
        value={readSignal(query.signal) ?? ''}
        options={[{ value: '', label: 'Any' }, ...SIGNALS]}
        onChoose={(signal) => onChoose({ signal })}
      />
    </>
  );
}

function Chips({ query, onRemove }: { query: Query; onRemove: (name: Name) => void }) {
  const asked = NAMES.filter((name) => (query[name] ?? '') !== '');
  if (asked.length === 0) return null;
  return (
    <ul class="chips padded row tight" aria-label="What is asked for">
      {asked.map((name) => (
        <li key={name} class="chip line tight small">
          <span class="muted">{CHIPS[name]}</span>
          <bdi dir="auto">{query[name]}</bdi>
          <button
            type="button"
            aria-label={`Remove ${CHIPS[name]} ${query[name]}`}
            onClick={() => onRemove(name)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function labelOptions(labels: LabelCounts | undefined): readonly string[] {
  return (labels?.keys ?? []).flatMap(({ key, values }) =>
    values.map(({ value }) => `${key}=${value}`),
  );
}
