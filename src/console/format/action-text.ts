// Display texts for audit actions.

const ACTIONS: Readonly<Record<string, string>> = {
  'account.fail-sign-in': 'Failed to sign in as',
  'account.reset-password': 'Made a password link for',
  'account.set-password': 'Set password of',
  'account.sign-in': 'Signed in as',
  'app.create': 'Created app',
  'app.update': 'Changed app',
  'channel.create': 'Added channel',
  'channel.update': 'Changed channel',
  'device.purge': 'Deleted devices of',
  'invitation.create': 'Invited',
  'invitation.revoke': 'Revoked invitation',
  'key.create': 'Minted key',
  'key.revoke': 'Revoked key',
  'member.join': 'Joined',
  'member.update': 'Changed role',
  'member.remove': 'Removed member',
  'organization.create': 'Created organization',
  'organization.update': 'Renamed organization',
  'plan.advance': 'Advanced the plan of',
  'plan.cancel': 'Cancelled the plan of',
  'plan.complete': 'Completed the plan of',
  'plan.create': 'Planned the roll-out of',
  'plan.hold': 'Held the plan of',
  'plan.resume': 'Resumed the plan of',
  'plan.start': 'Started the plan of',
  'release.complete': 'Completed release',
  'release.promote': 'Promoted release',
  'release.publish': 'Published release',
  'release.serve': 'Steered release',
  'release.withdraw': 'Withdrew release',
  'webhook.disable': 'Disabled webhook',
  'webhook.enable': 'Enabled webhook',
  'webhook.update': 'Changed webhook',
};

/** Returns the text for an action; an unknown action is displayed by its name. */
export function actionText(action: string): string {
  return Object.hasOwn(ACTIONS, action) ? (ACTIONS[action] ?? action) : action;
}
