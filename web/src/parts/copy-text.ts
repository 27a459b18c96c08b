import { toast } from './toast.tsx';

/** Puts a text into the clipboard. False: the browser did not let it, and a note says so. */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Browsers hide it from pages that came over plain http from another machine.
    if (navigator.clipboard === undefined) copySelected(text);
    else await navigator.clipboard.writeText(text);
    return true;
  } catch {
    toast('The browser does not let the page copy. Select the text, and copy it yourself.');
    return false;
  }
}

/** The older way, by a selected text. It is inside the open dialog, which lets the focus go nowhere else. */
function copySelected(text: string): void {
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'fixed top-0 left-0 opacity-0';
  (focused?.closest('[role=dialog]') ?? document.body).append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!copied) throw new Error('The browser refused.');
}
