// Help page: the terms of the console, the four signals, and the keyboard shortcuts.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { SIGNALS } from '../../contract/choice.ts';
import type { Signal } from '../../contract/rollout-plan.ts';
import { Card } from '../part/card.tsx';
import { PageHead, useTitle } from '../part/page-head.tsx';
import { KEYS } from './keys.tsx';

const SIGNAL_TERMS: Readonly<Record<Signal, ComponentChildren>> = {
  failed: (
    <>
      Could not install the release, and said so. Base: the devices that were offered it. Of one
      network address only a few count.
    </>
  ),
  reverted: (
    <>
      Were on the release, and went back to a lower version on the same channel while it was not
      rolled back. Base: the devices that installed it.
    </>
  ),
  stuck: (
    <>
      Offered it, checked in again after the limit of time, and still on the old version. Base: the
      devices that were offered it at least that long ago.
    </>
  ),
  silent: (
    <>
      Not seen again since the update, for the limit of time. The share of silent devices among the
      others is taken off, because devices also rest at night. Base: the devices that it reached
      that long ago.
    </>
  ),
};

const TERMS = (
  <dl class="terms stack">
    <Term id="channel" term="Channel">
      A line of releases, such as stable or beta. Each device asks for one. A channel may follow
      another one: its devices are offered the releases of both, the highest version first.
    </Term>
    <Term id="serving" term="Serving">
      The release that every matching device of a channel is offered: published, at 100 %, for
      everybody, with a file for the platform. Platforms may be served different releases.
    </Term>
    <Term id="rollout" term="Rollout">
      The share of devices that a release is offered to. It only rises once a device was offered it:
      pause the release to stop offering it, or roll it back to take devices down.
    </Term>
    <Term id="place" term="Place of a device">
      A fixed number from 0 to 100 % for each device and release. A device is offered the release as
      soon as the rollout has reached its place.
    </Term>
    <Term id="plan" term="Rollout plan">
      Raises the rollout step by step, and waits between the steps. It holds when a guard trips.
    </Term>
    <Term id="guard" term="Guard">
      A limit for a signal. It trips when the signal exceeds the limit with 95 % confidence, in two
      checks one after the other; the plan is held, and the release paused. A guard with too few
      devices cannot judge.
    </Term>
    <Term id="targeting" term="Targeting">
      Conditions on labels of devices. Devices that do not match are not offered the release.
    </Term>
    <Term id="minimum-version" term="Minimum supported version">
      Devices below it are told that an update is required, where there is an update for them.
    </Term>
    <Term id="edge" term="Edge">
      A node without stores of its own, that answers devices near them. It identifies itself with a
      token. When the token was revoked the edge is refused: give it a new one, or stop it.
    </Term>
    <Term id="device-id" term="Device id">
      What a device calls itself: an app makes one once, for example a UUID, and keeps it. Texts
      that many devices would share, such as <code>undefined</code>, are none: the device is then in
      no staged rollout, and not on record.
    </Term>
    <Term id="approval" term="Approval">
      On channels that ask for it, what offers a release to more devices waits for a second person.
    </Term>
  </dl>
);

function Term(props: { id: string; term: string; children: ComponentChildren }) {
  return (
    <div id={props.id} class="anchor">
      <dt>{props.term}</dt>
      <dd class="muted">{props.children}</dd>
    </div>
  );
}

/** Page of terms; a part of it has the address `#id`. */
export function HelpPage() {
  useTitle('Help');
  const page = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const id = location.hash.slice(1);
    if (id !== '') page.current?.querySelector(`[id="${CSS.escape(id)}"]`)?.scrollIntoView();
  }, []);
  return (
    <div ref={page}>
      <PageHead title="Help" lead="What the words of the console mean." />
      <div class="split">
        <div>
          <Card title="Terms">{TERMS}</Card>
        </div>
        <div>
          <div id="signals" class="anchor">
            <Card title="The four signals">
              <p class="hint">
                They count devices that were on record before the release was published. Each rate
                comes with its interval: the true rate lies in it with 95 % confidence.
              </p>
              <dl class="terms stack">
                {SIGNALS.map((signal) => (
                  <Term key={signal} id={signal} term={signal}>
                    {SIGNAL_TERMS[signal]}
                  </Term>
                ))}
              </dl>
            </Card>
          </div>
          <div id="keys" class="anchor">
            <Card title="Keys">{KEYS}</Card>
          </div>
        </div>
      </div>
    </div>
  );
}
