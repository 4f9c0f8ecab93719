// Tests that an appcast never depends on the rendering of its notes: not on its time, and not on its success.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { RenderedAppcasts } from '../../src/http/notes/feed-routes.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { Appcast } from '../../src/updater/sparkle.ts';

function appcast(notes: string): Appcast {
  return {
    app: 'acme',
    channel: 'stable',
    file: 'appcast.xml',
    item: {
      version: '1.0.0',
      release: { notes, createdAt: '2026-01-02T03:04:05.678Z' },
      artifact: { platform: 'darwin', url: 'https://example.com/a.zip' },
    },
  };
}

function appcasts(render: () => Promise<Buffer>) {
  const metrics = new Metrics();
  const rendered = new RenderedAppcasts({ appcast: render }, () => 'https://example.com', metrics);
  return { rendered, metrics };
}

afterEach(() => vi.useRealTimers());

const NOTES = () => appcast('*notes*');

describe('an appcast', () => {
  it('without notes is written in passing, once', () => {
    const { rendered } = appcasts(() => Promise.reject(new Error('not called')));
    const of = {};
    expect(rendered.ready(of, () => appcast(''))).toBeUndefined();
    const document = rendered.document(of, () => appcast(''));
    expect(document.toString()).toContain('<sparkle:version>1.0.0</sparkle:version>');
    expect(rendered.document(of, () => appcast(''))).toBe(document);
  });

  it('with notes is rendered once for all who ask meanwhile', async () => {
    const render = vi.fn(async () => Buffer.from('rendered'));
    const { rendered } = appcasts(render);
    const of = {};
    await Promise.all([rendered.ready(of, NOTES), rendered.ready(of, NOTES)]);
    expect(rendered.document(of, NOTES).toString()).toBe('rendered');
    expect(rendered.ready(of, NOTES)).toBeUndefined();
    expect(render).toHaveBeenCalledTimes(1);
  });

  it('is answered without notes after two seconds, and with them once they are rendered', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let finish: (document: Buffer) => void = () => undefined;
    const { rendered } = appcasts(
      () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    );
    const of = {};
    let isReady = false;
    const ready = rendered.ready(of, NOTES)?.then(() => {
      isReady = true;
    });
    await vi.advanceTimersByTimeAsync(1999);
    expect(isReady).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await ready;
    const plain = rendered.document(of, NOTES);
    expect(plain.toString()).toContain('<enclosure');
    expect(plain.toString()).not.toContain('notes');
    // The next one is not kept waiting.
    expect(rendered.ready(of, NOTES)).toBeUndefined();
    expect(rendered.document(of, NOTES)).toBe(plain);
    finish(Buffer.from('rendered'));
    await vi.waitFor(() => expect(rendered.document(of, NOTES).toString()).toBe('rendered'));
  });

  it('is answered without notes where nothing renders them; the next check tries again', async () => {
    let isAway = true;
    const { rendered, metrics } = appcasts(async () => {
      if (isAway) throw new Unavailable('engine', 'too many wait');
      return Buffer.from('rendered');
    });
    const of = {};
    await rendered.ready(of, NOTES);
    expect(rendered.document(of, NOTES).toString()).toContain('<enclosure');
    expect(metrics.faults.counts.get('notes')).toBe(1);
    isAway = false;
    void rendered.ready(of, NOTES);
    await vi.waitFor(() => expect(rendered.document(of, NOTES).toString()).toBe('rendered'));
  });
});
