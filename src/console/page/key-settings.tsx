// API keys of an organization, for builds and orchestrators.

import { useState } from 'preact/hooks';
import { KEY_RIGHTS, type ListedKey } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import { queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge } from '../part/badge.tsx';
import { Card, Empty } from '../part/card.tsx';
import { type Column, DataTable } from '../part/data-table.tsx';
import { ConfirmDialog } from '../part/dialog.tsx';
import { Actor, Name } from '../part/name.tsx';
import { LoadedView } from '../part/notice.tsx';
import { Time, useNow } from '../part/time.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';
import { MintKeyDialog } from './mint-key-dialog.tsx';
import { rightLabel } from './right-options.ts';

const REFRESH_MS = 10_000;

/** Section for API keys: owners create and revoke them, all members see the list. */
export function KeySettings() {
  const { id: org } = useOrganization();
  const mayChange = useMay('owner');
  const keys = useLoad(`keys${queryText({ org })}`, REFRESH_MS);
  const apps = useLoad(`apps${queryText({ org })}`);
  const [isMinting, setMinting] = useState(false);
  const [revoked, setRevoked] = useState<ListedKey>();
  const mint = mayChange ? (
    <button type="button" class="button primary small" onClick={() => setMinting(true)}>
      Mint key
    </button>
  ) : undefined;
  return (
    <Card title="Keys" aside={mint} isFlush>
      <p class="hint padded">
        A key lets a build publish and an orchestrator plan: for every app of the organization,
        unless it is made for less.
      </p>
      <LoadedView of={keys}>
        {(found) =>
          found.keys.length === 0 ? (
            <Empty title="No keys yet">
              <p class="hint">
                {mayChange ? 'Mint one and give it to your build.' : 'An owner can mint one.'}
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
      {isMinting && (
        <MintKeyDialog
          apps={apps.data?.apps.map(({ ref }) => ref) ?? []}
          onMint={async (draft) => {
            const key = await call('POST', 'keys', { org, ...draft });
            void keys.reload();
            return key.secret;
          }}
          onClose={() => setMinting(false)}
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
  { label: 'Name', render: ({ name }) => <Name text={name} /> },
  { label: 'Begins with', render: ({ prefix }) => <span class="code">{prefix}…</span> },
  {
    label: 'Made',
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
    render: ({ lastUsedAt, lastUsedFrom }) => (
      <>
        <Time at={lastUsedAt} never="never" />{' '}
        {lastUsedFrom !== null && <span class="muted">from {lastUsedFrom}</span>}
      </>
    ),
  },
  {
    label: 'State',
    render: ({ revokedAt, expiresAt }) => <KeyState revokedAt={revokedAt} expiresAt={expiresAt} />,
  },
];

/** What a key is narrowed to: apps, and rights. */
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

/** Whether a key still works, and since or until when. */
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
