// Themes that are not part of SillyTavern.

import fs from 'node:fs';
import path from 'node:path';

/** A light theme, which every user has. */
export const PAPER = {
    name: 'Paper',
    blur_strength: 0,
    main_text_color: 'rgba(33, 33, 33, 1)',
    italics_text_color: 'rgba(80, 80, 80, 1)',
    underline_text_color: 'rgba(33, 33, 33, 1)',
    quote_text_color: 'rgba(0, 90, 160, 1)',
    blur_tint_color: 'rgba(250, 249, 246, 1)',
    chat_tint_color: 'rgba(250, 249, 246, 1)',
    user_mes_blur_tint_color: 'rgba(240, 238, 232, 1)',
    bot_mes_blur_tint_color: 'rgba(246, 245, 240, 1)',
    shadow_color: 'rgba(0, 0, 0, 0.1)',
    shadow_width: 0,
    border_color: 'rgba(0, 0, 0, 0.25)',
};

/**
 * Adds a theme to a user's, whose folder is given; the page knows it after a reload. Missing values are those of Dark Lite.
 */
export function writeTheme(user, theme) {
    const folder = path.join(user, 'themes');
    const like = JSON.parse(fs.readFileSync(path.join(folder, 'Dark Lite.json'), 'utf8'));
    fs.writeFileSync(path.join(folder, `${theme.name}.json`), JSON.stringify({ ...like, ...theme }));
}
