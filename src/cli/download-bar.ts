const paintIntervalMs = 200;
const barCells = 30;

/** How far a download is, on one line of stderr where that is a terminal; nothing elsewhere. */
export function createDownloadBar(): { show(doneBytes: number, totalBytes: number): void; end(): void } {
  if (process.stderr.isTTY !== true) return { show() {}, end() {} };
  let paintedMs = 0;
  return {
    show(doneBytes, totalBytes) {
      const nowMs = performance.now();
      if (nowMs - paintedMs < paintIntervalMs && doneBytes < totalBytes) return;
      paintedMs = nowMs;
      process.stderr.write(`\r${barLine(doneBytes, totalBytes)}\u001b[K`);
    },
    end() {
      process.stderr.write('\r\u001b[K');
    },
  };
}

/** `[#########---------------------]  31 %  36.2 of 118.0 MB` */
function barLine(doneBytes: number, totalBytes: number): string {
  const share = totalBytes === 0 ? 1 : Math.min(1, doneBytes / totalBytes);
  const full = Math.floor(share * barCells);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `[${'#'.repeat(full)}${'-'.repeat(barCells - full)}] ${percent} %  ${inMb(doneBytes)} of ${inMb(totalBytes)} MB`;
}

export function inMb(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
