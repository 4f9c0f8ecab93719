// API keys of an organization, for builds and orchestrators, and the dialog for a new one.

import { useState } from 'preact/hooks';
import { KEY_RIGHTS, type KeyRight, type ListedKey } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { ChipsInput } from '../form/chips-input.tsx';
import { ConfirmDialog, Dialog, SecretDialog } from '../form/dialog.tsx';
import { CheckGroup, Choice, Field, type Option } from '../form/field.tsx';
import { Form } from '../form/form.tsx';
import { LoadedView } from '../form/notice.tsx';
import { queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge } from '../part/badge.tsx';
import { Card, Empty } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { Actor, Name } from '../part/name.tsx';
import { Time, useNow } from '../part/time.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';

const REFRESH_MS = 10_000;

/** Section for API keys: owners create and revoke them, all members see the list. */
export function KeySettings() {
  const { id: org } = useOrganization();
  const mayChange = useMay('owner');
  const keys = useLoad(`keys${queryText({ org })}`, REFRESH_MS);
  const apps = useLoad(`apps${queryText({ org })}`);
  const [isCreating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<ListedKey>();
  const create = mayChange ? (
    <button type="button" class="button primary small" onClick={() => setCreating(true)}>
      Create key
    </button>
  ) : undefined;
  return (
    <Card title="Keys" aside={create} isFlush>
      <p class="hint padded">
        Keys let builds and scripts use the API. Limit each to the apps and actions it needs.
      </p>
      <LoadedView of={keys}>
        {(found) =>
          found.keys.length === 0 ? (
            <Empty title="No keys yet">
              <p class="hint">
                {mayChange ? 'Create one and give it to your build.' : 'An owner can create one.'}
              </p>
            </Empty>
          ) : (
            <DataTable
              caption="Keys"
              columns={mayChange ? [...COLUMNS, revokeColumn(setRevoked)] : COLUMNS}
              rows={found.keys}
              keyOf={({ id }) => id}
            />
          )
        }
      </LoadedView>
      {isCreating && (
        <NewKeyDialog
          apps={apps.data?.apps.map(({ ref }) => ref) ?? []}
          onCreate={async (draft) => {
            const key = await call('POST', 'keys', { org, ...draft });
            void keys.reload();
            return key.secret;
          }}
          onClose={() => setCreating(false)}
        />
      )}
      {revoked !== undefined && (
        <RevokeKey
          revoked={revoked}
          onRevoke={async () => {
            await call('POST', `keys/${encodeURIComponent(revoked.id)}/revoke`);
            await keys.reload();
          }}
          onClose={() => setRevoked(undefined)}
        />
      )}
    </Card>
  );
}

function RevokeKey(props: {
  revoked: ListedKey;
  onRevoke: () => Promise<void>;
  onClose: () => void;
}) {
  const { revoked, onRevoke, onClose } = props;
  return (
    <ConfirmDialog title="Revoke key" verb="Revoke key" onConfirm={onRevoke} onClose={onClose}>
      <p>
        Calls with{' '}
        <strong>
          <Name text={revoked.name} />
        </strong>{' '}
        are refused from now on, for good. It was last used:{' '}
        <Time at={revoked.lastUsedAt} never="never" />.
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
  const rights = may.length === KEY_RIGHTS.length ? 'everything' : may.map(rightLabel).join(', ');
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

function revokeColumn(onRevoke: (key: ListedKey) => void): Column<ListedKey> {
  return {
    label: 'Revoke',
    isAction: true,
    render: (key) =>
      key.revokedAt === null ? (
        <button type="button" class="button plain small" onClick={() => onRevoke(key)}>
          Revoke<span class="unseen"> {key.name}</span>
        </button>
      ) : null,
  };
}

const END_OPTIONS = [
  { value: 'never', label: 'never' },
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
] as const;

type End = (typeof END_OPTIONS)[number]['value'];

const DAY_MS = 86_400_000;

/** New key as the service takes it. */
type KeyDraft = {
  readonly name: string;
  readonly apps: readonly string[] | undefined;
  readonly may: readonly KeyRight[] | undefined;
  readonly expiresAt: string | undefined;
};

function draftOf(
  name: string,
  apps: readonly string[],
  may: readonly KeyRight[],
  end: End,
): KeyDraft {
  const expiresAt = new Date(Date.now() + Number(end) * DAY_MS);
  return {
    name,
    apps: apps.length === 0 ? undefined : apps,
    may: may.length === KEY_RIGHTS.length ? undefined : may,
    expiresAt: end === 'never' ? undefined : expiresAt.toISOString(),
  };
}

/** Dialog for a new key; `apps` are suggestions, `onCreate` creates the key and resolves with its secret. */
function NewKeyDialog(props: {
  apps: readonly string[];
  onCreate: (draft: KeyDraft) => Promise<string>;
  onClose: () => void;
}) {
  const { apps, onCreate, onClose } = props;
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [may, setMay] = useState<readonly KeyRight[]>(['publish']);
  const [end, setEnd] = useState<End>('365');
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined) {
    return (
      <SecretDialog title="Key created" label="Key" text={secret} what="key" onClose={onClose}>
        Copy the key now. It is shown this once; only its fingerprint is kept.
      </SecretDialog>
    );
  }
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <Form
        send="Create key"
        obstacle={may.length === 0 ? 'Choose what it may do.' : undefined}
        onSend={async () => setSecret(await onCreate(draftOf(name, chosen, may, end)))}
        onCancel={onClose}
      >
        <Field
          name="name"
          label="Name"
          value={name}
          onInput={setName}
          placeholder="ci"
          hint="Where it will be used; the audit calls it by this name."
          isRequired
          isFocused
        />
        <fieldset class="wide">
          <legend>Apps</legend>
          <ChipsInput
            label="Add an app"
            values={chosen}
            options={apps}
            placeholder={chosen.length === 0 ? 'all apps; or choose some' : undefined}
            onChange={setChosen}
          />
        </fieldset>
        <CheckGroup
          label="It may"
          values={may}
          options={RIGHT_OPTIONS}
          onChange={setMay}
          hint={may.length === 0 ? 'Choose at least one.' : 'For CI, “publish” is enough.'}
        />
        <Choice
          label="Ends"
          value={end}
          options={END_OPTIONS}
          onChoose={setEnd}
          hint="A key that ends is one less to forget. Make its successor before."
        />
      </Form>
    </Dialog>
  );
}

/** Words for the rights of keys. */
const RIGHT_OPTIONS: readonly Option<KeyRight>[] = [
  { value: 'publish', label: 'publish, promote and withdraw' },
  { value: 'control', label: 'change how releases are served' },
  { value: 'fleet', label: 'report and plan for devices' },
  { value: 'read', label: 'read' },
];

function rightLabel(right: KeyRight): string {
  return RIGHT_OPTIONS.find(({ value }) => value === right)?.label ?? right;
}
