// Page for an account without an organization: says whom to ask, or has a form that creates one.

import { call } from '../api/call.ts';
import { Field } from '../form/field.tsx';
import { Form, useFields } from '../form/form.tsx';
import { Card } from '../part/card.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { OrganizationField, TokenField } from '../session/account-field.tsx';
import { useSession } from '../session/use-session.ts';

const ASK = 'Ask an owner for an invitation, or the operator of this service.';

/** Page that replaces every other one while the account is in no organization. */
export function NewcomerPage() {
  useTitle('Welcome');
  const { mayCreateOrganizations, awaitsSetUp, signIn } = useSession();
  if (mayCreateOrganizations) return <NewOrganization />;
  if (awaitsSetUp) return <FirstOrganization />;
  const name = signIn?.oidc.name;
  const groups = `The operator can also give a role to a group of yours at ${name}: sign in again then.`;
  return (
    <PageHead
      title="You are in no organization"
      lead={name === undefined ? ASK : `${ASK} ${groups}`}
    />
  );
}

function NewOrganization() {
  const { refresh } = useSession();
  const { values, field } = useFields({ name: '' });
  const create = async () => {
    await call('POST', 'organizations', values);
    await refresh();
  };
  return (
    <>
      <PageHead
        title="You are in no organization yet"
        lead="Make one for your apps, or ask for an invitation to an existing one."
      />
      <Card title="New organization">
        <Form send="Create organization" onSend={create}>
          <Field label="Name" isRequired isFocused {...field('name')} />
        </Form>
      </Card>
    </>
  );
}

/** Form on a service that is not set up: the admin token makes the account an owner. */
function FirstOrganization() {
  const { refresh } = useSession();
  const { values, field } = useFields({ token: '', organization: '' });
  const create = async () => {
    await call('POST', 'setup/organization', { ...values, token: values.token.trim() });
    await refresh();
  };
  return (
    <>
      <PageHead
        title="No organization is here yet"
        lead="With the admin token you make the first one, and own it. Without the token, ask the operator."
      />
      <Card title="Set up Sluice">
        <Form send="Create organization" onSend={create}>
          <TokenField {...field('token')} />
          <OrganizationField {...field('organization')} />
        </Form>
      </Card>
    </>
  );
}
