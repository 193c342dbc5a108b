// Appearance: does it fit, can it be tapped, is it readable? Based on what the browser has computed.

/** @typedef {import('playwright-core').Locator} Locator */

/** Elements that extend beyond the window, or have to be scrolled sideways. @param {Locator} root @returns {Promise<string[]>} */
export function overflowing(root) {
    return root.evaluate((root) => {
        const wrong = [];
        const label = (node) => `${node.tagName.toLowerCase()}.${node.className} “${node.textContent.trim().slice(0, 40)}”`;
        for (const node of [root, ...root.querySelectorAll('*')]) {
            const { left, right, width, height } = node.getBoundingClientRect();
            // Content for screen readers only is one pixel large.
            if (!node.checkVisibility() || width <= 1 || height <= 1) {
                continue;
            }
            if (left < -1 || right > innerWidth + 1) {
                wrong.push(`${label(node)} lies at ${Math.round(left)} to ${Math.round(right)} of ${innerWidth}`);
            }
            const scrolls = ['auto', 'scroll'].includes(getComputedStyle(node).overflowX);
            if (scrolls && node.scrollWidth > node.clientWidth + 1 && !node.matches('input, textarea, select')) {
                wrong.push(`${label(node)} is ${node.scrollWidth} wide inside ${node.clientWidth}`);
            }
        }
        if (document.scrollingElement.scrollWidth > innerWidth) {
            wrong.push(`the page is ${document.scrollingElement.scrollWidth} wide`);
        }
        return wrong;
    });
}

/** Controls that are too small for a finger; a control's label counts as part of it. @returns {Promise<string[]>} */
export function tooSmall(root, pixels = 40) {
    return root.evaluate((root, pixels) => {
        const controls = root.querySelectorAll('button, input, select, textarea, summary, .menu_button, .inline-drawer-toggle');
        return [...controls].filter((control) => control.checkVisibility()).flatMap((control) => {
            const areas = [control, ...(control.labels ?? []), control.closest('.forklore_choice')].filter(Boolean)
                .map((area) => area.getBoundingClientRect());
            const width = Math.max(...areas.map((area) => area.width));
            const height = Math.max(...areas.map((area) => area.height));
            const isFit = width >= pixels - 0.5 && height >= pixels - 0.5;
            const name = control.textContent.trim() || control.labels?.[0]?.textContent.trim() || control.ariaLabel;
            return isFit ? [] : [`${control.tagName.toLowerCase()} “${name}” is ${Math.round(width)} x ${Math.round(height)}`];
        });
    }, pixels);
}

/**
 * Texts with too little contrast to their background.
 *
 * @returns {Promise<{ checked: number, poor: string[] }>}
 */
export function poorlyVisible(root, ratio = 4.5) {
    return root.evaluate((root, ratio) => {
        const pen = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
        const known = new Map();
        const rgba = (color) => {
            if (!known.has(color)) {
                pen.clearRect(0, 0, 1, 1);
                pen.fillStyle = color;
                pen.fillRect(0, 0, 1, 1);
                const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
                known.set(color, { parts: [red, green, blue], alpha: alpha / 255 });
            }
            return known.get(color);
        };
        const over = (top, bottom) => {
            const alpha = top.alpha + bottom.alpha * (1 - top.alpha);
            const part = (at) => (top.parts[at] * top.alpha + bottom.parts[at] * bottom.alpha * (1 - top.alpha)) / (alpha || 1);
            return { parts: [part(0), part(1), part(2)], alpha };
        };
        const luminance = ({ parts }) => {
            const [red, green, blue] = parts.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        };
        /** The pixel of a letter and the one beside it, through all layers below them. */
        const pixels = (node) => {
            let text = rgba(getComputedStyle(node).color);
            let ground = { parts: [0, 0, 0], alpha: 0 };
            for (let place = node; place; place = place.parentElement) {
                const { backgroundColor, opacity } = getComputedStyle(place);
                [text, ground] = [text, ground].map((pixel) => {
                    const laid = over(pixel, rgba(backgroundColor));
                    return { ...laid, alpha: laid.alpha * Number(opacity) };
                });
            }
            const paper = { parts: [255, 255, 255], alpha: 1 };
            return [over(text, paper), over(ground, paper)];
        };
        const poor = [];
        let checked = 0;
        for (const node of [root, ...root.querySelectorAll('*')]) {
            const own = [...node.childNodes].filter((child) => child.nodeType === Node.TEXT_NODE).map((child) => child.data.trim()).join(' ');
            const isOff = node.closest(':disabled, .disabled, .forklore_disabled, .forklore_unseen');
            const { width, height } = node.getBoundingClientRect();
            if (!own || isOff || !node.checkVisibility() || width <= 1 || height <= 1) {
                continue;
            }
            checked += 1;
            const [light, dark] = pixels(node).map(luminance).sort((one, other) => other - one);
            const contrast = (light + 0.05) / (dark + 0.05);
            if (contrast < ratio) {
                const [text, ground] = pixels(node).map(({ parts }) => parts.map(Math.round).join(' '));
                poor.push(`“${own.slice(0, 50)}” ${contrast.toFixed(2)}: ${text} on ${ground}`);
            }
        }
        return { checked, poor };
    }, ratio);
}

/** All readable content: texts, tooltips, labels and placeholders. @returns {Promise<string[]>} */
export function readable(root) {
    return root.evaluate((root) => {
        const texts = [];
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            texts.push(walker.currentNode.data);
        }
        for (const node of [root, ...root.querySelectorAll('*')]) {
            texts.push(...['title', 'aria-label', 'placeholder'].map((name) => node.getAttribute(name) ?? ''));
        }
        return [...new Set(texts.map((text) => text.trim()).filter(Boolean))];
    });
}
