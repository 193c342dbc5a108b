// TauriTavern, SillyTavern as an app. Only if its setting "Chat History" is off, the page holds whole chats and saves them
// by requests. Otherwise it holds the end of a chat, and changes go to the app past every request.

/** Where TauriTavern keeps that setting in the browser. It takes effect when the page is loaded. */
const SETTING = 'tt:chatHistoryMode';

/** Why Forklore can neither see nor change chats in this page; `null` if it can. @returns {'windowed' | null} */
export function cannotRecordBecause() {
    const isTauriTavern = '__TAURITAVERN__' in globalThis;
    return isTauriTavern && localStorage.getItem(SETTING)?.trim() !== 'off' ? 'windowed' : null;
}
