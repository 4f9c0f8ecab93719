// API keys of an organization, for builds and orchestrators, and the dialog for a new one.

import { useState } from 'preact/hooks';
import { KEY_RIGHTS, type KeyRight, type ListedKey } from '../../contract/resource.ts';
import { wordFor } from '../../contract/text.ts';
import { call } from '../api/call.ts';
import { ChipsInput } from '../form/chips-input.tsx';
import {
  ConfirmDialog,
  type DialogEnd,
  FormDialog,
  SecretDialog,
  useDialog,
} from '../form/dialog.tsx';
import { CheckGroup, Choice, Field, optionsOf } from '../form/field.tsx';
import { useFields } from '../form/form.tsx';
import { LoadedView } from '../form/notice.tsx';
import { SmallButton } from '../form/small-button.tsx';
import { queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge } from '../part/badge.tsx';
import { Card, Empty } from '../part/card.tsx';
import { buttonColumn, type Column, DataTable } from '../part/data-table.tsx';
import { Actor, Name, StrongName } from '../part/name.tsx';
import { Time, useNow } from '../part/time.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';

const REFRESH_MS = 10_000;

/** Section for API keys: owners create and revoke them, all members see the list. */
export function KeySettings() {
  const { id: org } = useOrganization();
  const mayChange = useMay('owner');
  const keys = useLoad(`keys${queryText({ org })}`, REFRESH_MS);
  const [dialog, show] = useDialog(keys.reload);
  const create = mayChange && (
    <SmallButton tone="primary" onClick={() => show((end) => <NewKeyDialog {...end} />)}>
      Create key
    </SmallButton>
  );
  const revoke = buttonColumn<ListedKey>(
    'Revoke',
    ({ name, revokedAt }) => (revokedAt === null ? name : undefined),
    (key) => show((end) => <RevokeKey revoked={key} {...end} />),
  );
  return (
    <Card title="Keys" aside={create} isFlush>
      <p class="hint padded">
        Keys let builds and scripts use the API. Limit each to the apps and actions it needs.
      </p>
      <LoadedView of={keys}>
        {(found) =>
          found.keys.length === 0 ? (
            <Empty title="No keys yet">
              {mayChange ? 'Create one and give it to your build.' : 'An owner can create one.'}
            </Empty>
          ) : (
            <DataTable
              caption="Keys"
              columns={mayChange ? [...COLUMNS, revoke] : COLUMNS}
              rows={found.keys}
            />
          )
        }
      </LoadedView>
      {dialog}
    </Card>
  );
}

function RevokeKey({ revoked, ...end }: DialogEnd & { revoked: ListedKey }) {
  const revoke = () => call('POST', `keys/${encodeURIComponent(revoked.id)}/revoke`);
  return (
    <ConfirmDialog title="Revoke key" verb="Revoke key" onSend={revoke} {...end}>
      <p>
        Calls with <StrongName text={revoked.name} /> are refused from now on, for good. It was last
        used: <Time at={revoked.lastUsedAt} never="never" />.
      </p>
    </ConfirmDialog>
  );
}

const COLUMNS: readonly Column<ListedKey>[] = [
  {
    label: 'Name',
    render: ({ name, prefix }) => (
      <>
        <Name text={name} /> <span class="code muted key-prefix">{prefix}…</span>
      </>
    ),
  },
  {
    label: 'Made',
    isNamed: true,
    render: ({ createdAt, createdBy }) => (
      <>
        <Time at={createdAt} />{' '}
        {createdBy !== null && (
          <span class="muted">
            by <Actor text={createdBy} />
          </span>
        )}
      </>
    ),
  },
  { label: 'For', render: (key) => <KeyLimits listed={key} /> },
  {
    label: 'Last used',
    isNamed: true,
    render: ({ lastUsedAt, lastUsedFrom }) => (
      <>
        <Time at={lastUsedAt} never="never" />{' '}
        {lastUsedFrom !== null && (
          <span class="muted">
            from <Name text={lastUsedFrom} />
          </span>
        )}
      </>
    ),
  },
  {
    label: 'State',
    render: ({ revokedAt, expiresAt }) => <KeyState revokedAt={revokedAt} expiresAt={expiresAt} />,
  },
];

/** Apps and rights of a key. */
function KeyLimits({ listed }: { listed: ListedKey }) {
  const { apps, may } = listed;
  const rights =
    may.length === KEY_RIGHTS.length
      ? 'everything'
      : may.map((each) => wordFor(RIGHT_WORDS, each)).join(', ');
  return (
    <>
      {apps === null ? 'all apps' : <Name text={apps.join(', ')} />}
      <span class="muted">: {rights}</span>
    </>
  );
}

/** Whether a key is valid, and since or until when. */
function KeyState({ revokedAt, expiresAt }: Pick<ListedKey, 'revokedAt' | 'expiresAt'>) {
  const now = useNow();
  if (revokedAt !== null) {
    return (
      <>
        <Badge tone="bad">Revoked</Badge> <Time at={revokedAt} />
      </>
    );
  }
  const isOver = expiresAt !== null && Date.parse(expiresAt) <= now;
  return (
    <>
      {isOver ? <Badge tone="bad">Ended</Badge> : <Badge tone="good">Active</Badge>}
      {expiresAt !== null && (
        <>
          {' '}
          {isOver ? '' : 'until '}
          <Time at={expiresAt} />
        </>
      )}
    </>
  );
}

const SPANS = [
  { value: 'never', label: 'never' },
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
] as const;

type Span = (typeof SPANS)[number]['value'];

const DAY_MS = 86_400_000;

/** Dialog for a new key, which then shows its secret. */
function NewKeyDialog(end: DialogEnd) {
  const { id: org } = useOrganization();
  const apps = useLoad(`apps${queryText({ org })}`);
  const { values, field } = useFields({ name: '' });
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [may, setMay] = useState<readonly KeyRight[]>(['publish']);
  const [span, setSpan] = useState<Span>('365');
  const create = () => {
    const expiresAt = new Date(Date.now() + Number(span) * DAY_MS);
    return call('POST', 'keys', {
      ...{ org, ...values, apps: chosen.length === 0 ? undefined : chosen },
      may: may.length === KEY_RIGHTS.length ? undefined : may,
      expiresAt: span === 'never' ? undefined : expiresAt.toISOString(),
    });
  };
  return (
    <FormDialog
      title="Create a key"
      verb="Create key"
      obstacle={may.length === 0 ? 'Choose what it may do.' : undefined}
      onSend={create}
      then={({ secret }) => (
        <SecretDialog title="Key created" text={secret} what="key" onClose={end.onClose}>
          Copy the key now. It is shown this once; only its fingerprint is kept.
        </SecretDialog>
      )}
      {...end}
    >
      <Field
        label="Name"
        placeholder="ci"
        hint="Where it will be used; the audit calls it by this name."
        isRequired
        isFocused
        {...field('name')}
      />
      <fieldset class="wide">
        <legend>Apps</legend>
        <ChipsInput
          label="Add an app"
          values={chosen}
          options={apps.data?.apps.map(({ ref }) => ref) ?? []}
          placeholder={chosen.length === 0 ? 'all apps; or choose some' : undefined}
          onChange={setChosen}
        />
      </fieldset>
      <CheckGroup
        label="It may"
        values={may}
        options={optionsOf(RIGHT_WORDS)}
        onChange={setMay}
        hint={may.length === 0 ? 'Choose at least one.' : 'For CI, “publish” is enough.'}
      />
      <Choice
        label="Ends"
        value={span}
        options={SPANS}
        onChoose={setSpan}
        hint="A key that ends is one less to forget. Make its successor before."
      />
    </FormDialog>
  );
}

/** Words for the rights of keys. */
const RIGHT_WORDS: Readonly<Record<KeyRight, string>> = {
  publish: 'publish, promote and withdraw',
  control: 'change how releases are served',
  fleet: 'report and plan for devices',
  read: 'read',
};
