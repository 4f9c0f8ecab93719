// Credentials of an app's devices that speak DDI: gateway tokens, and the secrets of which device tokens are
// made. Owners create and end them; all members see the lists.

import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { LIMIT } from '../../contract/limit.ts';
import type { DdiCredentialList, DdiSecret, GatewayToken } from '../../contract/resource.ts';
import { call } from '../api/call.ts';
import {
  ConfirmDialog,
  type DialogEnd,
  FormDialog,
  SecretDialog,
  useDialog,
} from '../form/dialog.tsx';
import { Choice, Field } from '../form/field.tsx';
import { useFields } from '../form/form.tsx';
import { LoadedView } from '../form/notice.tsx';
import { SmallButton } from '../form/small-button.tsx';
import { queryText } from '../format/console-path.ts';
import { useLoad } from '../hook/use-load.ts';
import { Badge } from '../part/badge.tsx';
import { Card, Empty } from '../part/card.tsx';
import { buttonColumn, type Column, DataTable } from '../part/data-table.tsx';
import { Actor, Name, StrongName } from '../part/name.tsx';
import { Time } from '../part/time.tsx';
import { useMay, useOrganization } from '../session/use-session.ts';

const REFRESH_MS = 10_000;

/** Section with a choice of an app, at first the one of the query, and the credentials of its devices. */
export function DdiSettings() {
  const { id: org } = useOrganization();
  const apps = useLoad(`apps${queryText({ org })}`);
  const { query } = useLocation();
  const [chosen, setChosen] = useState(query.app);
  return (
    <LoadedView of={apps}>
      {({ apps: all }) => {
        const app = all.find(({ ref }) => ref === chosen) ?? all[0];
        if (app === undefined) {
          return <Empty title="No apps yet">Devices authenticate for an app.</Empty>;
        }
        return (
          <>
            <div class="filters bare">
              <Choice
                label="App"
                value={app.ref}
                options={all.map(({ ref, name }) => ({ value: ref, label: `${name} (${ref})` }))}
                onChoose={setChosen}
              />
            </div>
            <Credentials key={app.ref} app={app.ref} />
          </>
        );
      }}
    </LoadedView>
  );
}

function Credentials({ app }: { app: string }) {
  const found = useLoad(`ddi-credentials${queryText({ app })}`, REFRESH_MS);
  return (
    <LoadedView of={found}>
      {(credentials) => (
        <>
          <GatewayTokens app={app} found={credentials} onChanged={found.reload} />
          <Secrets app={app} found={credentials} onChanged={found.reload} />
        </>
      )}
    </LoadedView>
  );
}

type CardProps = { app: string; found: DdiCredentialList; onChanged: () => Promise<void> };

const madeColumn: Column<GatewayToken | DdiSecret> = {
  label: 'Made',
  isNamed: true,
  render: ({ createdAt, createdBy }) => (
    <>
      <Time at={createdAt} />{' '}
      <span class="muted">
        by <Actor text={createdBy} />
      </span>
    </>
  ),
};

const TOKEN_COLUMNS: readonly Column<GatewayToken>[] = [
  { label: 'Name', render: ({ name }) => <Name text={name} /> },
  madeColumn,
  {
    label: 'Last used',
    isNamed: true,
    render: ({ lastUsedAt }) => <Time at={lastUsedAt} never="never" />,
  },
  {
    label: 'State',
    render: ({ revokedAt }) =>
      revokedAt === null ? (
        <Badge tone="good">Active</Badge>
      ) : (
        <>
          <Badge tone="bad">Revoked</Badge> <Time at={revokedAt} />
        </>
      ),
  },
];

/** Card of the tokens by which a gateway speaks for every device. */
function GatewayTokens({ app, found, onChanged }: CardProps) {
  const mayChange = useMay('owner');
  const [dialog, show] = useDialog(onChanged);
  const { gatewayTokens } = found;
  const active = gatewayTokens.filter(({ revokedAt }) => revokedAt === null).length;
  const create = mayChange && active < LIMIT.gatewayTokensMax && (
    <SmallButton onClick={() => show((end) => <NewTokenDialog app={app} {...end} />)}>
      Create gateway token
    </SmallButton>
  );
  const revoke = buttonColumn<GatewayToken>(
    'Revoke',
    ({ name, revokedAt }) => (revokedAt === null ? name : undefined),
    (token) => show((end) => <RevokeToken app={app} revoked={token} {...end} />),
  );
  return (
    <Card title="Gateway tokens" aside={create} isFlush>
      <p class="hint padded">
        A gateway token opens every device of the app that speaks DDI, such as SWUpdate. Give it to
        a proxy that knows the devices, not to devices. At most {LIMIT.gatewayTokensMax} are active.
      </p>
      {gatewayTokens.length === 0 ? (
        <Empty title="No gateway tokens yet" />
      ) : (
        <DataTable
          caption="Gateway tokens"
          columns={mayChange ? [...TOKEN_COLUMNS, revoke] : TOKEN_COLUMNS}
          rows={gatewayTokens}
        />
      )}
      {dialog}
    </Card>
  );
}

/** Dialog for a new gateway token, which then shows it. */
function NewTokenDialog({ app, ...end }: DialogEnd & { app: string }) {
  const { values, field } = useFields({ name: '' });
  return (
    <FormDialog
      title="Create a gateway token"
      verb="Create gateway token"
      onSend={() => call('POST', 'gateway-tokens', { app, ...values })}
      then={({ token }) => (
        <SecretDialog title="Gateway token created" text={token} what="token" onClose={end.onClose}>
          Copy the token now. It is shown this once; only its fingerprint is kept.
        </SecretDialog>
      )}
      {...end}
    >
      <Field
        label="Name"
        placeholder="proxy of plant 7"
        hint="Where it will be used; the audit calls it by this name."
        isRequired
        isFocused
        {...field('name')}
      />
    </FormDialog>
  );
}

function RevokeToken(props: DialogEnd & { app: string; revoked: GatewayToken }) {
  const { app, revoked, ...end } = props;
  const revoke = () => call('POST', 'gateway-tokens/revoke', { app, id: revoked.id });
  return (
    <ConfirmDialog
      title="Revoke gateway token"
      verb="Revoke gateway token"
      onSend={revoke}
      {...end}
    >
      <p>
        Devices that come with <StrongName text={revoked.name} /> are refused within five seconds,
        for good. It was last used: <Time at={revoked.lastUsedAt} never="never" />.
      </p>
    </ConfirmDialog>
  );
}

/** Card of the secrets of which device tokens are made. */
function Secrets({ app, found, onChanged }: CardProps) {
  const mayChange = useMay('owner');
  const [dialog, show] = useDialog(onChanged);
  const { secrets } = found;
  const add = mayChange && secrets.length < LIMIT.ddiSecretsMax && (
    <SmallButton onClick={() => show((end) => <AddSecret app={app} {...end} />)}>
      Add secret
    </SmallButton>
  );
  const remove = buttonColumn<DdiSecret>(
    'Remove',
    ({ id }) => id,
    ({ id }) => show((end) => <RemoveSecret app={app} id={id} {...end} />),
  );
  const columns: readonly Column<DdiSecret>[] = [
    { label: 'Secret', render: ({ id }) => <code>{id}</code> },
    madeColumn,
    {
      label: 'Use',
      render: ({ id }) =>
        id === secrets[0]?.id ? <Badge tone="good">New tokens</Badge> : <Badge>Older tokens</Badge>,
    },
  ];
  return (
    <Card title="Device tokens" aside={add} isFlush>
      <p class="hint padded">
        Each device has a token of its own, which is made of a secret of the app:{' '}
        <code>sluice ddi device-token --app {app} ID</code> prints it. The first one makes a secret.
        To replace all tokens, add another secret, give devices their new tokens, and remove the
        older one.
      </p>
      {secrets.length === 0 ? (
        <Empty title="No secret yet" />
      ) : (
        <DataTable
          caption="Secrets of device tokens"
          columns={mayChange ? [...columns, remove] : columns}
          rows={secrets}
        />
      )}
      {dialog}
    </Card>
  );
}

function AddSecret({ app, ...end }: DialogEnd & { app: string }) {
  const add = () => call('POST', 'ddi-secrets', { app });
  return (
    <FormDialog title="Add a secret" verb="Add secret" onSend={add} {...end}>
      <p>New device tokens are made with it. Those that devices have stay valid.</p>
    </FormDialog>
  );
}

function RemoveSecret({ app, id, ...end }: DialogEnd & { app: string; id: string }) {
  const remove = () => call('POST', 'ddi-secrets/remove', { app, id });
  return (
    <ConfirmDialog title="Remove a secret" verb="Remove secret" onSend={remove} {...end}>
      <p>
        Devices whose tokens were made with <code>{id}</code> are refused within five seconds, for
        good, until they have new ones.
      </p>
    </ConfirmDialog>
  );
}
