// A lorebook that ST-Auto-Recap has operations for must neither go back nor be merged into: they expect the entries of today.

import { toBytes } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';

/** @import { Core, Host } from '../../types.js' */

/**
 * Throws what is left to do, as ST-Auto-Recap refuses its own restore.
 * @param {{host: Pick<Host, 'recapOperations'>, core: Core}} parts
 * @param {{isOpen: boolean, metadata: ST.Metadata, book: Uint8Array | undefined}} chat
 */
export async function refuseBusy({ host, core }, { isOpen, metadata, book }) {
    const running = await host.recapOperations();
    const underWay = isOpen || running === null ? running : 0;
    const { busy, paused, operations } = core.pendingWork({ metadata, underWay }, book ?? toBytes({ entries: {} }));
    if (busy) {
        throw wordError(paused ? 'queue-paused' : 'queue-busy', { count: operations });
    }
}
