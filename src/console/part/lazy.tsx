// Pages whose code is loaded on first use, so that the first page is shown early.

import { type ComponentType, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Notice, Skeleton } from '../form/notice.tsx';

type PropsOf<Page> = Page extends ComponentType<infer Props extends object> ? Props : never;

/** Returns the page of this name, whose code is loaded when it is first shown, with a skeleton until then. */
export function lazyPage<Pages, Name extends keyof Pages>(
  load: () => Promise<Pages>,
  name: Name,
): ComponentType<PropsOf<Pages[Name]>> {
  let loaded: ComponentType<PropsOf<Pages[Name]>> | undefined;
  return (props: PropsOf<Pages[Name]>) => {
    const [, setReady] = useState(loaded !== undefined);
    const [isMissing, setMissing] = useState(false);
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (pages) => {
          loaded = pages[name] as ComponentType<PropsOf<Pages[Name]>>;
          setReady(true);
        },
        () => setMissing(true),
      );
    }, []);
    if (loaded !== undefined) return h(loaded, props);
    return isMissing ? <ReloadNotice what="page" /> : <Skeleton />;
  };
}

/** Notice for code that could not be loaded: an upgrade of the service may have renamed its file. */
export function ReloadNotice({ what }: { what: string }) {
  return (
    <Notice tone="warn">
      The {what} could not be loaded; the console may have been updated.{' '}
      <button type="button" class="link" onClick={() => location.reload()}>
        Reload the page
      </button>
    </Notice>
  );
}
