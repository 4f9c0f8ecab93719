// Filters of the device list, kept in the query so that a filtered list can be shared.

import { useLocation } from 'preact-iso';
import type { AppOverview, LabelCounts } from '../../contract/console.ts';
import { SIGNALS, type Signal } from '../../contract/rollout-plan.ts';
import { queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Choice, Field } from '../part/field.tsx';
import { FilterForm, useDraft } from '../part/form.tsx';

const SEEN = [
  { value: '', label: 'Any time' },
  { value: 'hour', label: 'Last hour' },
  { value: 'day', label: 'Last day' },
  { value: 'week', label: 'Last week' },
] as const;

const MOVED = [
  { value: '', label: 'Any' },
  { value: 'yes', label: 'Yes' },
  { value: 'no', label: 'Not yet' },
] as const;

const SIGNAL_OPTIONS: readonly { readonly value: Signal | ''; readonly label: string }[] = [
  { value: '', label: 'Any' },
  ...SIGNALS.map((signal) => ({ value: signal, label: signal })),
];

const SEEN_MS: Readonly<Record<string, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
};

/** Form of filters: text is applied with Enter or the button, a choice at once. */
export function DeviceFilters({ app, query }: { app: AppOverview; query: Record<string, string> }) {
  const { route } = useLocation();
  const { draft, field } = useDraft(query);
  const labels = useLoad(`labels${queryText({ app: app.ref })}`);
  const apply = (changed: Record<string, string>) =>
    route(`${location.pathname}${queryText({ ...query, ...changed, after: undefined })}`, true);
  return (
    <FilterForm label="Filter devices" onApply={() => apply(draft)}>
      <Field label="Version" isCode {...field('version')} />
      <Choice
        label="Channel"
        value={query.channel ?? ''}
        options={[
          { value: '', label: 'Any' },
          ...app.channels.map(({ name }) => ({ value: name, label: name })),
        ]}
        onChoose={(channel) => apply({ ...draft, channel })}
      />
      <Field label="Platform" {...field('platform')} />
      <Field
        label="Label"
        placeholder="ring=canary"
        options={labelOptions(labels.data)}
        {...field('label')}
      />
      <Field label="Offered last" isCode {...field('offered')} />
      <Choice
        label="Moved to it"
        value={query.moved ?? ''}
        options={MOVED}
        onChoose={(moved) => apply({ ...draft, moved })}
      />
      <Choice
        label="Seen"
        value={query.seen ?? ''}
        options={SEEN}
        onChoose={(seen) => apply({ ...draft, seen })}
      />
      <Choice
        label="Signal"
        value={readSignal(query.signal) ?? ''}
        options={SIGNAL_OPTIONS}
        onChoose={(signal) => apply({ ...draft, signal })}
      />
      <Field label="of release" isCode {...field('release')} />
    </FilterForm>
  );
}

/** Reads the signal of a query; undefined for none, and for a text that is none. */
export function readSignal(text: string | undefined): Signal | undefined {
  return SIGNALS.find((signal) => signal === text);
}

/** Returns the start of the selected time range, rounded to the minute; undefined for any time. */
export function seenSince(seen: string | undefined): string | undefined {
  const spanMs = seen !== undefined && Object.hasOwn(SEEN_MS, seen) ? SEEN_MS[seen] : undefined;
  if (spanMs === undefined) return undefined;
  return new Date(Math.floor(Date.now() / 60_000) * 60_000 - spanMs).toISOString();
}

function labelOptions(labels: LabelCounts | undefined): readonly string[] {
  return (labels?.keys ?? []).flatMap(({ key, values }) =>
    values.map(({ value }) => `${key}=${value}`),
  );
}
