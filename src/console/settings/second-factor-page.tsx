// Page of an organization that demands a second factor, for a session without one: says how to add it.

import type { Membership } from '../../contract/resource.ts';
import { Card } from '../part/card.tsx';
import { StrongName } from '../part/name.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { PasskeysCard, SessionsCard } from './account-settings.tsx';

export function SecondFactorPage({ membership }: { membership: Membership }) {
  useTitle('Second factor');
  return (
    <>
      <PageHead title="Second factor" />
      <Card title="This organization asks for a second factor">
        <p>
          <StrongName text={membership.organization.name} /> is open to you once you have signed in
          with more than a password. Add a passkey below: it opens at once. If you have one already,
          sign out and sign in with it. If you have lost it, ask an owner for a link.
        </p>
      </Card>
      <PasskeysCard />
      <SessionsCard />
    </>
  );
}
