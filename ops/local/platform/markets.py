"""What restaurants are made from: markets, subscriptions, opening hours and dishes, each with how common it is."""

from dataclasses import dataclass
from datetime import time


@dataclass(frozen=True, slots=True)
class City:
    """A market. price_level: minor units of the currency that buy what one halala buys in Riyadh."""

    name: str
    zone: str
    currency: str
    vat_basis_points: int
    price_level: float
    weekend: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """A subscription: fee_minor per day at the price level of Riyadh, commission in basis points of net sales."""

    name: str
    fee_minor: int
    commission_basis_points: int


RIYADH = City("Riyadh", "Asia/Riyadh", "SAR", 1500, 1.0, (4, 5))
CITIES = (
    (RIYADH, 40),
    (City("Jeddah", "Asia/Riyadh", "SAR", 1500, 1.0, (4, 5)), 22),
    (City("Dammam", "Asia/Riyadh", "SAR", 1500, 0.9, (4, 5)), 12),
    (City("Dubai", "Asia/Dubai", "AED", 500, 1.3, (5, 6)), 10),
    (City("Kuwait City", "Asia/Kuwait", "KWD", 0, 0.9, (4, 5)), 5),
    (City("Manama", "Asia/Bahrain", "BHD", 1000, 1.0, (4, 5)), 4),
    (City("Cairo", "Africa/Cairo", "EGP", 1400, 6.0, (4, 5)), 4),
    (City("London", "Europe/London", "GBP", 2000, 0.4, (5, 6)), 3),
)
PLANS = ((Plan("growth", 1900, 1500), 85), (Plan("starter", 500, 2200), 10), (Plan("enterprise", 9900, 900), 5))
HOURS = (
    ((time(11), time(0)), 45),
    ((time(12, 30), time(2)), 25),
    ((time(10), time(22, 30)), 15),
    ((time(6), time(15)), 10),
    ((time(0), time(0)), 5),
)
STYLES = ("Najd", "Hijaz", "Levant", "Cedar", "Saffron", "Olive", "Palm", "Corniche", "Anatolia", "Harbour", "Spice")
KINDS = ("Grill", "Kitchen", "House", "Bakery", "Table", "Garden", "Diner", "Corner", "Oven")
DISHES = (
    ("Chicken kabsa", 3200), ("Lamb mandi", 5400), ("Beef shawarma", 1900), ("Chicken shawarma", 1600),
    ("Mixed grill", 6800), ("Shish tawook", 3600), ("Falafel plate", 1800), ("Hummus", 1400), ("Mutabbal", 1500),
    ("Fattoush", 1700), ("Tabbouleh", 1600), ("Lentil soup", 1300), ("Margherita pizza", 3400),
    ("Zaatar manakish", 900), ("Cheese manakish", 1100), ("Butter chicken", 3900), ("Biryani", 3300),
    ("Prawn machboos", 5900), ("Koshari", 1500), ("Smash burger", 3500), ("Fried chicken", 2900),
    ("Fish and chips", 4200), ("Caesar salad", 2800), ("Fries", 1000), ("Garlic bread", 900), ("Kunafa", 2200),
    ("Umm ali", 1800), ("Baklava", 1700), ("Cheesecake", 2400), ("Dates", 1200), ("Mint lemonade", 1400),
    ("Karak tea", 500), ("Arabic coffee", 700), ("Cola", 600), ("Laban", 500), ("Water", 200),
)  # fmt: skip
