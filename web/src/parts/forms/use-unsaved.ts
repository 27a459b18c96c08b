import { useBlocker } from '@tanstack/react-router';
import { useRef } from 'react';

/**
 * Asks before a changed form is lost, by a link or by the browser. The form of a page stays where only the search of the
 * address changes. A dialog may not, unless its page replaces the search, as it does once a form is saved.
 */
export function useUnsaved(isChanged: boolean, of: 'page' | 'dialog'): void {
  useBlocker({
    disabled: !isChanged,
    shouldBlockFn: ({ action, current, next }) =>
      (current.pathname !== next.pathname || (of === 'dialog' && action !== 'REPLACE')) &&
      !window.confirm('Your changes are not saved. Leave the page and discard them?'),
  });
}

/**
 * Asks before a page that shows a secret once is left, or changed by its address: nobody can show it again. The function
 * goes on with `onDone`, and asks no more.
 */
export function useShownOnce(onDone: () => void): () => void {
  const isSaved = useRef(false);
  useBlocker({
    shouldBlockFn: () =>
      !isSaved.current && !window.confirm('This is shown only once. Leave the page, and never see it again?'),
    enableBeforeUnload: () => !isSaved.current,
  });
  return () => {
    isSaved.current = true;
    onDone();
  };
}
