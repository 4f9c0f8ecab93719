// Rules of the names of channels that an engine keeps, run unchanged on every implementation.

import { expect } from 'vitest';
import type { ChannelNameList } from '../../../src/store/engine.ts';
import type { EnginesUnderTest, Rule } from './engines-under-test.ts';

function listOf(tag: string, count: number): ChannelNameList {
  const channels = Array.from({ length: count }, (_, index) => ({
    appId: `app_${index}`,
    appRef: `App.${index}`,
    channelId: `chn_${index}`,
    channel: 'stable',
  }));
  return { tag, isComplete: count % 2 === 0, channels };
}

export function channelNameRules(nodes: () => EnginesUnderTest, it: Rule): void {
  it('the list is read back whole by every node, until another one is stored', async () => {
    const { engine, second } = nodes();
    for (const list of [listOf('one', 3), listOf('none', 0), listOf('many', 20_000)]) {
      await engine.putChannelNames(list);
      expect(await second.getChannelNames(undefined)).toEqual(list);
      expect(await engine.getChannelNames('another')).toEqual(list);
    }
  });

  it('a list whose tag the caller holds is not read again, nor one with the same tag stored', async () => {
    const { engine, second } = nodes();
    await engine.putChannelNames(listOf('held', 2));
    expect(await second.getChannelNames('held')).toBeUndefined();
    await second.putChannelNames(listOf('held', 2));
    expect(await engine.getChannelNames(undefined)).toEqual(listOf('held', 2));
  });
}
