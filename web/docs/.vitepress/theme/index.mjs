// Without Inter: the fonts of the system serve, as on the dashboard.
import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
